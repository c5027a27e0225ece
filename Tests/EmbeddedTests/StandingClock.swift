import BatonBase
import BatonModel
import Synchronization

/// The clocks of a coordinator whose instants stand still, so that no rate recovers however slow the machine is. The
/// wall clock goes on, and a test can move it. Pauses take their time, and end early when the wall clock is moved.
final class StandingClock: Sendable {
  private struct State {
    var moved = Duration.zero
    var pauses: [Int: Task<Void, any Error>] = [:]
    var last = 0
  }

  private let instant = SystemClocks.instant()
  private let state = Mutex(State())

  var date: Timestamp { SystemClocks.date() + state.withLock { $0.moved } }

  var clocks: Clocks {
    Clocks(
      instant: { [instant] in instant }, sleep: { [self] in try await pause($0) }, date: { [self] in date })
  }

  /// Moves the wall clock.
  func move(by duration: Duration) {
    let pauses = state.withLock { state in
      state.moved += duration
      return Array(state.pauses.values)
    }
    for pause in pauses { pause.cancel() }
  }

  private func pause(_ duration: Duration) async throws {
    let pause = Task { try await Task.sleep(for: duration) }
    let id = state.withLock { state in
      state.last += 1
      state.pauses[state.last] = pause
      return state.last
    }
    defer { state.withLock { $0.pauses[id] = nil } }
    await withTaskCancellationHandler {
      _ = await pause.result
    } onCancel: {
      pause.cancel()
    }
    try Task.checkCancellation()
  }
}
