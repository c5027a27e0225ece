import Synchronization

/// Lets one caller in at a time, in the order of arrival. Operators' words about the fleet are stored and told to the
/// core inside it. Without it, two concurrent words could reach the store and the dispatcher in different orders.
///
/// A caller whose task is cancelled still waits for its turn, because the store may already have what it started.
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
