import BatonTestKit

// The samples of the documentation that the tests in this folder do not need. They are here so that they are compiled.

/// Each way to interrupt a launch.
func interruptions() -> [Interruption] {
  let interruptions: [Interruption] = [
    .expiry(.hostBusy, .after(batches: 2)),
    .workerLost(.during(batch: 2)),
    .checkpointRefused(batch: 2),
  ]
  return interruptions
}

/// A payload as text, and as a value.
func payloads() -> [TestRequest] {
  let text = TestRequest("com.example.import.eu", payload: #"{"pages": 3}"#)
  let value = TestRequest("com.example.import.eu", payload: .json(Importer.Settings(pages: 3)))
  return [text, value]
}

/// A server for files.
func served() -> TestRequest {
  let server = TestServer()
  server.deliver("https://example.com/orders.csv", "1,20\n2,30\n", interruptedAt: [0, 7])
  server.refuse("https://example.com/customers.csv", status: 404)
  let request = TestRequest("com.example.load", transfers: ["https://example.com/orders.csv"], server: server)
  return request
}
