import BatonBase
import BatonModel
import Synchronization

/// A clock that a test moves. Those who sleep wake when the clock is moved to their time.
final class ManualClock: Sendable {
  private struct Sleeper {
    var until: Duration
    var length: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var time = Duration.zero
    var sleepers: [UInt64: Sleeper] = [:]
    var cancelled: Set<UInt64> = []
    var last: UInt64 = 0
  }

  private let state = Mutex(State())
  /// Is raised when a task begins to sleep.
  let stirred: Signal

  init(stirring signal: Signal = Signal()) { stirred = signal }

  /// How much time has gone by.
  var time: Duration { state.withLock { $0.time } }

  var clocks: Clocks {
    Clocks(
      now: { [self] in
        let time = time
        return Now(instant: Samples.start.instant + time, date: Samples.start.date + time)
      }, sleep: { [self] in try await sleep($0) }, boot: { "boot" })
  }

  private func sleep(_ length: Duration) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(id) != nil { return true }
          state.sleepers[id] = Sleeper(until: state.time + length, length: length, continuation: continuation)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) } else { stirred.raise() }
      }
    } onCancel: {
      state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Moves the clock to the first sleeper whose sleep is not longer than `longest`, and wakes that sleeper.
  /// - Returns: `false` if there is none.
  @discardableResult
  func wakeNext(_ longest: Duration = .seconds(1 << 40)) -> Bool {
    let sleeper = state.withLock { state in
      let next = state.sleepers.filter { $0.value.length <= longest }.min {
        ($0.value.until, $0.key) < ($1.value.until, $1.key)
      }
      guard let next else { return Sleeper?.none }
      state.time = max(state.time, next.value.until)
      return state.sleepers.removeValue(forKey: next.key)
    }
    sleeper?.continuation.resume()
    return sleeper != nil
  }
}
