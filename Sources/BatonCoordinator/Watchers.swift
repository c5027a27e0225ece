import BatonBase
import BatonModel
import BatonTelemetry
import Synchronization

/// Notifies the watchers of a request when it changes. Nothing waits for a watcher: several changes may cause one
/// notification.
final class Watchers: Sendable {
  private struct State {
    var signals: [RequestID: [Int: Signal]] = [:]
    var next = 0
    var isClosed = false
    /// What has changed since it was taken last; nil while nothing is read of it.
    var recent: RecentChanges?
  }

  private let state = Mutex(State())

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func changed(_ request: RequestID) {
    let signals = state.withLock { state in
      state.recent?.note(request)
      return state.signals[request].map { Array($0.values) }
    }
    for signal in signals ?? [] { signal.raise() }
  }

  /// Runs `body` with a signal that is raised at each change of the request, and when the coordinator shuts down.
  func watching<Result>(_ request: RequestID, _ body: (Signal) async throws -> Result) async rethrows -> Result {
    let signal = Signal()
    let number = state.withLock { state in
      state.next += 1
      state.signals[request, default: [:]][state.next] = signal
      return state.next
    }
    defer { forget(request, number) }
    return try await body(signal)
  }

  func close() {
    let signals = state.withLock { state in
      state.isClosed = true
      return state.signals.values.flatMap(\.values)
    }
    for signal in signals { signal.raise() }
  }

  // MARK: Everything

  /// From now on, what has changed is kept until it is taken.
  func beginKeeping() { state.withLock { $0.recent = $0.recent ?? RecentChanges() } }

  func endKeeping() { state.withLock { $0.recent = nil } }

  /// What has changed since the last call.
  func takeRecent() -> RecentChanges {
    state.withLock { state in
      let recent = state.recent ?? RecentChanges()
      if state.recent != nil { state.recent = RecentChanges() }
      return recent
    }
  }

  /// Notes that the definitions, or what operators have said of the fleet, have changed.
  func changed(_ topic: ChangeTopic) { state.withLock { state in _ = state.recent?.topics.insert(topic) } }

  private func forget(_ request: RequestID, _ number: Int) {
    state.withLock { state in
      state.signals[request]?[number] = nil
      if state.signals[request]?.isEmpty == true { state.signals[request] = nil }
    }
  }
}
