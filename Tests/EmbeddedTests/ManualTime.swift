import BatonBase
import BatonCoordinator
import BatonModel
import Synchronization

/// The clocks of a coordinator under test. They stand still until a test moves them, and a test can step the
/// wall clock.
final class ManualTime: Sendable {
  private struct Sleeper {
    var wakesAt: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var passed = Duration.zero
    var stepped = Duration.zero
    var sleepers: [Int: Sleeper] = [:]
    var last = 0
    var cancelled: Set<Int> = []
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
  /// At least so many loops of a coordinator sleep: ticks, housekeeping, the look for room and for late requests, and
  /// the upkeep of notifications.
  private static let loops = 5
  private let state = Mutex(State())

  var clocks: Clocks {
    Clocks(now: { self.now }, sleep: { try await self.sleep($0) }, boot: { "boot" })
  }

  var now: Now {
    state.withLock { state in
      Now(instant: Instant(nanoseconds: state.passed.nanoseconds), date: Self.start + state.passed + state.stepped)
    }
  }

  /// Steps the wall clock, as if a person set the machine's clock.
  func stepWallClock(by duration: Duration) { state.withLock { $0.stepped += duration } }

  /// Lets time pass step by step: each loop wakes at every time for which it asked.
  func pass(_ duration: Duration) async {
    let end = state.withLock { $0.passed } + duration
    while await wake(atMost: end) {}
  }

  /// Lets time pass in one step, as if the process had been stopped: each loop that is due wakes once.
  func jump(_ duration: Duration) async {
    await allAsleep()
    wakeAll(state.withLock { $0.passed } + duration)
    await pass(.milliseconds(200))
  }

  private func wake(atMost end: Duration) async -> Bool {
    await allAsleep()
    let next = state.withLock { state in state.sleepers.values.map(\.wakesAt).min() ?? end }
    wakeAll(min(next, end))
    return next <= end
  }

  private func wakeAll(_ time: Duration) {
    let due = state.withLock { state in
      state.passed = max(state.passed, time)
      let due = state.sleepers.filter { $0.value.wakesAt <= state.passed }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  private func allAsleep() async {
    await withCheckedContinuation { continuation in
      let isAsleep = state.withLock { state in
        if state.sleepers.count >= Self.loops { return true }
        state.waiters.append(continuation)
        return false
      }
      if isAsleep { continuation.resume() }
    }
  }

  private func sleep(_ duration: Duration) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (isCancelled, waiters) = state.withLock { state in
          if state.cancelled.remove(id) != nil { return (true, [] as [CheckedContinuation<Void, Never>]) }
          state.sleepers[id] = Sleeper(wakesAt: state.passed + duration, continuation: continuation)
          guard state.sleepers.count >= Self.loops else { return (false, []) }
          defer { state.waiters = [] }
          return (false, state.waiters)
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
        for waiter in waiters { waiter.resume() }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper?.continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
  }
}
