import BatonModel

/// Which of the three ended a call of `racing` first.
private enum Finish<Result: Sendable>: Sendable {
  case done(Result)
  case interrupted
  case timedOut
}

/// Runs `body` until it is done, the person presses Ctrl-C, or `timeout` is over. In the last two cases `body`
/// is cancelled.
/// - Parameters:
///   - what: what has not ended when `timeout` is over, as the beginning of a sentence.
///   - interruption: makes the message for a person who pressed Ctrl-C.
/// - Returns: what `body` returns.
/// - Throws: every error of `body`; a `CommandFailure` with status `interrupted` and the message of `interruption`
///   after Ctrl-C; and one with status `timedOut` after `timeout`.
func racing<Result: Sendable>(
  timeout: Duration? = nil, what: String = "the request has not ended",
  interruption: @escaping @Sendable () -> String = { "" },
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  let environment = CommandEnvironment.current
  let finish = try await withThrowingTaskGroup(of: Finish<Result>.self) { group in
    defer { group.cancelAll() }
    group.addTask { .done(try await body()) }
    group.addTask {
      await environment.interrupted()
      return .interrupted
    }
    if let timeout {
      group.addTask {
        try await environment.sleep(timeout)
        return .timedOut
      }
    }
    guard let first = try await group.next() else { preconditionFailure("the race has no runner") }
    return first
  }
  switch finish {
  case .done(let result): return result
  case .interrupted: throw CommandFailure(.interrupted, interruption())
  case .timedOut:
    throw CommandFailure(.timedOut, "\(what) after \((timeout ?? .zero).inWords); it goes on")
  }
}
