internal import Synchronization

/// Wakes one waiter; raised while nobody waits, it is remembered once.
package final class Signal: Sendable {
  private struct State {
    var isRaised = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  package init() {}

  package func raise() {
    state.withLock { state in
      state.isRaised = true
      return state.waiter.take()
    }?.resume()
  }

  /// Returns once the signal was raised since the last wait, or the task is cancelled.
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

  /// The same, or once `sleep` is over; throws what it throws.
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
