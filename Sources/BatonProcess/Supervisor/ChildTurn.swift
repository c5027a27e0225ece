import Synchronization

/// A lock that a task may hold while it waits. The tasks get it in the order in which they asked for it, and a task
/// that is cancelled gets it too.
final class ChildTurn: Sendable {
  private struct State {
    var isTaken = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func take() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.isTaken else {
          state.isTaken = true
          return true
        }
        state.waiters.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  func give() {
    state.withLock { state in
      if state.waiters.isEmpty {
        state.isTaken = false
        return CheckedContinuation<Void, Never>?.none
      }
      return state.waiters.removeFirst()
    }?.resume()
  }
}
