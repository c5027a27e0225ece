import Synchronization

/// Lets one caller in at a time, in the order in which they came. What operators say about the fleet is stored and
/// decided inside: of two words at once the store would take one last, and the dispatcher the other.
///
/// A caller that is cancelled waits for its turn all the same: what it began in the store may be there.
final class Turnstile: Sendable {
  private struct State {
    var isBusy = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func inTurn<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
    await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async {
    await withCheckedContinuation { caller in
      let isNext = state.withLock { state in
        if state.isBusy { state.waiting.append(caller) }
        defer { state.isBusy = true }
        return !state.isBusy
      }
      if isNext { caller.resume() }
    }
  }

  private func leave() {
    let next = state.withLock { state in
      if state.waiting.isEmpty { state.isBusy = false }
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    next?.resume()
  }
}
