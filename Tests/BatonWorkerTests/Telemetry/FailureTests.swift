import BatonModel
import Testing

@testable import BatonCore
@testable import BatonProcess
@testable import BatonWorker

/// The type by which a failure is counted, and the text that is kept of it.
@Suite struct FailureTests {
  private struct Private: Error {}
  struct Generic<Value: Sendable>: Error { var value: Value }
  enum Case: Error { case one(String) }

  @Test(
    arguments: [
      (Broken(), "Broken"), (Private(), "Private"), (Case.one("a secret"), "Case"),
      (Generic(value: 1), "Generic<Int>"), (CancellationError(), "CancellationError"),
      (WorkerError("x"), "WorkerError"),
      (CommandError(.badItems, "x"), "badItems"),
      (CommandError(.killed, "x", type: "signal SIGSEGV"), "signal SIGSEGV"),
      (SystemError(.failed, "x"), "host"),
    ] as [(any Error, String)])
  func `a failure is counted by the type of what was thrown`(error: any Error, type: String) {
    #expect(Failure(error).type == type)
    #expect(Failure(error).text == String(describing: error))
  }

  @Test func `neither type nor text is longer than what is kept`() {
    let long = Failure(type: String(repeating: "é", count: 200), text: "")
    #expect(long.type == String(repeating: "é", count: 127))
    #expect(Failure(Broken(description: String(repeating: "é", count: 9000))).text.utf8.count == 4096)
  }

  @Test(
    arguments: [
      (.failed("x", errorType: "Broken"), nil, .failed("x"), "Broken"),
      (.failed("x", errorType: "Broken"), .paused, .expired(.paused), nil), (.finished, nil, .finished, nil),
      (.stopped(), nil, .lost, nil),
    ] as [(HandlerEnd, ExpiryReason?, LaunchOutcome, String?)])
  func `the coordinator is told the type of a failure, and of nothing else`(
    end: HandlerEnd, expiry: ExpiryReason?, said: LaunchOutcome, type: String?
  ) {
    var bench = Bench.welcomed()
    bench.starts()
    if let expiry { _ = bench.hears(.expire(key(1), expiry)) }
    let effects = bench.core.handlerEnded(key(1), end)
    #expect(effects == [.send(.ended(Ending(launch: key(1), outcome: said, errorType: type)))])
  }
}
