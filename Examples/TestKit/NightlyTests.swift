import BatonTestKit
import Testing

/// A handler that submits its next request first, and a report at its end.
let nightly: Handler = { task in
  try await task.submit("com.example.nightly", after: .seconds(86_400))
  for try await _ in task.batches(of: 0..<3, size: 1) {}
  try await task.submit("com.example.report", payload: ["purged": 3])
}

@Test("the nightly job submits its next request and its report once", arguments: Interruption.every(batches: 3))
func submitsOnce(_ interruption: Interruption) async throws {
  let request = TestRequest("com.example.nightly", maySubmit: ["com.example.nightly", "com.example.report"])
  try await request.complete(nightly, interruptedBy: interruption)
  #expect(request.submissions.map(\.identifier.rawValue) == ["com.example.nightly", "com.example.report"])
  #expect(request.submissions.first?.delay == .seconds(86_400))
}
