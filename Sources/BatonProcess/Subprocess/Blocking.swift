import Dispatch

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
