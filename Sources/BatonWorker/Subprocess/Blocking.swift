import Dispatch

/// Runs `body`, which may wait for a disk or a process, on a thread of its own: the few threads of Swift's tasks must
/// stay free, or heartbeats stop and the lease is lost.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "baton.blocking").async { continuation.resume(with: Result { try body() }) }
  }
}
