import Synchronization

/// A value that comes later, for any number of tasks that wait for it. A task that is cancelled stops waiting at once.
final class Promise<Value: Sendable>: Sendable {
  private struct State {
    var result: Result<Value, any Error>?
    var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
    var lastWaiter = 0
  }

  private let state = Mutex(State())

  /// The value or the error, if it has come.
  var result: Result<Value, any Error>? { state.withLock { $0.result } }

  /// Gives the value to all who wait. Only the first call counts.
  /// - Returns: whether this call was the first.
  @discardableResult
  func fulfil(_ result: Result<Value, any Error>) -> Bool {
    let waiters: [CheckedContinuation<Value, any Error>]? = state.withLock { state in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters ?? [] { waiter.resume(with: result) }
    return waiters != nil
  }

  /// Waits for the value.
  /// - Throws: the error that came instead of it; `CancellationError` if the task is cancelled before.
  func value() async throws -> Value {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known: Result<Value, any Error>? = state.withLock { state in
          if let result = state.result { return result }
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiters[number] = continuation
          return nil
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }
}
