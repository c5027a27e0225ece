import BatonBase
import GRPCCore
import NIOCore

/// The longest time that a client waits for an answer.
///
/// The client measures the time itself and does not give it to gRPC (`CallOptions.timeout`). For each call gRPC would
/// start two timers of the system, one here and one in the coordinator, on threads of their own. A timer goes on until
/// its time is over, although the call has long been answered. The timer of the gRPC thread needs no other thread and
/// ends with the call. A call that is given up here is reset, so the coordinator learns of it too.
package enum CallDeadline {
  /// Runs `body`, and cancels it when `limit` is over.
  /// - Throws: an `RPCError` with the code `deadlineExceeded` when `limit` is over, and what `body` throws.
  package static func within<Result: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let isOver = Signal()
    let timer = RPCLoop.group.any().scheduleTask(in: TimeAmount(limit)) { isOver.raise() }
    defer { timer.cancel() }
    return try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        await isOver.wait()
        return nil
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let result = ended { return result }
        // A cancelled caller ends the wait too, and then the call says how it ended.
        if !Task.isCancelled { break }
      }
      throw RPCError(code: .deadlineExceeded, message: "no answer came within \(limit.components.seconds) s")
    }
  }
}
