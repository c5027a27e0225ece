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
  }

  private let state = Mutex(State())

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func changed(_ request: RequestID) {
    let signals = state.withLock { $0.signals[request].map { Array($0.values) } }
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

  private func forget(_ request: RequestID, _ number: Int) {
    state.withLock { state in
      state.signals[request]?[number] = nil
      if state.signals[request]?.isEmpty == true { state.signals[request] = nil }
    }
  }
}
