internal import Synchronization

/// Wakes the one task that waits for it. Raising the signal while no task waits is remembered, once, so that the next
/// `wait` returns at once.
///
/// At most one task may wait at a time; a second waiter is a programming error and traps.
package final class Signal: Sendable {
  private struct State {
    var isRaised = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  /// Wakes the waiter, or lets the next `wait` return at once if no task waits.
  package func raise() {
    state.withLock { state in
      state.isRaised = true
      return state.waiter.take()
    }?.resume()
  }

  /// Returns when the signal has been raised since the last wait, or when the task is cancelled.
  package func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let resumesAtOnce = state.withLock { state in
          if state.isRaised || Task.isCancelled { return true }
          precondition(state.waiter == nil, "a signal has one waiter")
          state.waiter = continuation
          return false
        }
        if resumesAtOnce { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiter.take() }?.resume()
    }
    state.withLock { $0.isRaised = false }
  }

  /// Returns when the signal has been raised since the last wait, or when `sleep` returns, whichever comes first.
  /// Throws the error of `sleep` if `sleep` throws first, and `CancellationError` if the task is cancelled.
  package func wait(atMost sleep: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait() }
      group.addTask { try await sleep() }
      defer { group.cancelAll() }
      try await group.next()
    }
    try Task.checkCancellation()
  }
}
