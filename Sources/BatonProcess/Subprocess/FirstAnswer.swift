import Dispatch
import Synchronization

/// Keeps the first of several answers and hands it to one waiting task. It serves races between an operation and its
/// timeout.
package final class FirstAnswer<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiter: CheckedContinuation<Value, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  /// Stores the answer and resumes the waiting task. Only the first call has an effect.
  /// - Returns: `true` for the first call, `false` for every later one.
  @discardableResult
  package func give(_ value: Value) -> Bool {
    let (isFirst, waiter) = state.withLock { state in
      guard state.value == nil else { return (false, nil as CheckedContinuation<Value, Never>?) }
      state.value = value
      return (true, state.waiter.take())
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// Waits for the first answer. Only one task may wait: a second one would replace the first, which would then wait
  /// forever.
  package var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state in
          if state.value == nil {
            precondition(state.waiter == nil, "two tasks wait for the same answer")
            state.waiter = continuation
          }
          return state.value
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}

/// Runs `body` on a thread of its own and waits for the result. Use it for code that may wait for a disk or a process:
/// Swift's task pool has few threads, and if they were all blocked, heartbeats would stop and the lease would be lost.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "baton.blocking").async { continuation.resume(with: Result { try body() }) }
  }
}

/// Like `onOwnThread`, for code that may wait forever, for example for a file system that does not answer. Throws
/// `CancellationError` as soon as the task is cancelled; the thread then goes on by itself. After that, `body` must not
/// touch anything that other code uses.
package func onOwnThreadUntilCancelled<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  let answer = FirstAnswer<Result<Value, any Error>>()
  return try await withTaskCancellationHandler {
    DispatchQueue(label: "baton.blocking").async { answer.give(Result { try body() }) }
    return try await answer.value.get()
  } onCancel: {
    answer.give(.failure(CancellationError()))
  }
}
