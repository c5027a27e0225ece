import BatonModel

/// How a race between some work and impatience ended.
private enum Finish<Result: Sendable>: Sendable {
  case done(Result)
  case interrupted
  case timedOut
}

/// Runs `body` until it is done, the person presses Ctrl-C, or `timeout` is over; then `body` is cancelled.
/// - Throws: the failure that `interruption` makes, with status `interrupted`, or one with `timedOut`.
func racing<Result: Sendable>(
  timeout: Duration? = nil, interruption: @escaping @Sendable () -> String = { "" },
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
    throw CommandFailure(.timedOut, "not ended after \((timeout ?? .zero).inWords); it goes on all the same")
  }
}
