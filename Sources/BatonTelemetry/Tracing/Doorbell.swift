internal import Synchronization

/// Wakes one waiter. A ring that nobody waits for is kept, several are one.
final class Doorbell: Sendable {
  private enum State {
    case quiet
    case rung
    case waited(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.quiet)

  func ring() {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard case .waited(let waiter) = state else {
        state = .rung
        return nil
      }
      state = .quiet
      return waiter
    }
    waiter?.resume()
  }

  /// Until the next ring, or a cancellation.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isRung = state.withLock { state -> Bool in
          switch state {
          case .quiet where !Task.isCancelled:
            state = .waited(continuation)
            return false
          case .quiet, .rung:
            state = .quiet
            return true
          case .waited: preconditionFailure("a doorbell has one waiter")
          }
        }
        if isRung { continuation.resume() }
      }
    } onCancel: {
      ring()
    }
  }

  /// Until the next ring, a cancellation, or `sleep` is over.
  func wait(_ sleep: @escaping @Sendable () async throws -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait() }
      group.addTask { try? await sleep() }
      await group.next()
      group.cancelAll()
    }
  }
}
