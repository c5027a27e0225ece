import BatonClient

// The samples of the documentation that the client in ImportClient.swift does not need. They are here so that they are
// compiled.

/// Submits, and waits.
func submitAndWait() async throws {
  let client = try JobClient()
  let accepted = try await client.submit("com.example.import.orders", payload: ImportOrder(pages: 12))
  let request = try await client.wait(for: accepted.request)
  guard request.state == .succeeded else { throw ImportProblem(request.reason ?? "it gave no reason") }
}

/// The ways to a coordinator.
func locations(token: String, roots: String) throws -> [CoordinatorLocation] {
  let own = try CoordinatorLocation.ofThisUser()
  let login = try CoordinatorLocation.login("production")
  let fleet = try CoordinatorLocation.fleet(address: "base:7422", token: token, roots: roots)
  return [own, login, fleet]
}

/// A submission with all that it can say.
func submitLater(_ client: JobClient) async throws -> AcceptedSubmission {
  var submission = try JobSubmission("com.example.import.orders", payload: ImportOrder(pages: 12))
  submission.id = "import of 2026-11-27"
  submission.earliestBegin = .after(.seconds(3_600))
  submission.priority = .background
  let accepted = try await client.submit(submission)
  return accepted
}

/// Asks what is pending, and cancels it.
func tidyUp(_ client: JobClient) async throws {
  for request in try await client.pending(matching: "com.example.import.*") {
    try await client.cancel(request.name)
  }
}

/// Waits while too much is pending.
func submitPatiently(_ client: JobClient) async throws {
  do {
    try await client.submit("com.example.import.orders")
  } catch let error as JobClientError where error.code == .tooManyPending {
    try await Task.sleep(for: error.retryAfter ?? .seconds(30))
  }
}

/// Says why a request cannot run.
func explain(_ client: JobClient) async throws {
  let explanation = try await client.explain("com.example.import.orders")
  if explanation.verdict == .impossible { print(explanation.text) }
}

struct ImportProblem: Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}
