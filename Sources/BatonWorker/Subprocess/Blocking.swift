import Dispatch

/// Runs `body`, which may wait for a disk or a process, on a thread of its own: the few threads of Swift's tasks must
/// stay free, or heartbeats stop and the lease is lost.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "baton.blocking").async { continuation.resume(with: Result { try body() }) }
  }
}

/// The same for what may wait for ever, such as a file system that is away: throws `CancellationError` as soon as the
/// task is cancelled, and leaves the thread to itself. `body` must not touch anything afterwards that others use.
func onOwnThreadUntilCancelled<Value: Sendable>(
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
