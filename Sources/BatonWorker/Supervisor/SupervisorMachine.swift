import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a supervisor does about its worker: one at a time, started anew when it dies, until it is asked to stop or
/// ends by itself with something that a new start would not change.
struct SupervisorMachine: Hashable, Sendable {
  enum Event: Hashable, Sendable {
    /// Somebody signalled the supervisor.
    case signalled(Int32)
    case workerEnded(ProcessEnd)
    case waited
  }

  enum Effect: Hashable, Sendable {
    case start
    case forward(Int32)
    /// Kill whatever the dead worker left, before anybody is told that it is dead.
    case cleanUp
    /// Say that the worker died, while waiting so long before the next start.
    case report(ProcessEnd, during: Duration)
    case end(status: Int32)
  }

  private enum Phase: Hashable, Sendable {
    case running(since: Instant)
    case waiting
    case ended
  }

  /// The wait before the second start (Documentation/limits.md). It doubles with each start up to `longestWait`, and is
  /// `firstWait` again after a worker that has lived for `settledAfter`.
  static let firstWait = Duration.seconds(1)
  static let longestWait = Duration.seconds(30)
  static let settledAfter = Duration.seconds(60)

  private var phase: Phase
  private var nextWait = firstWait
  private var isStopping = false
  private var hasHungUp = false

  /// The first effect is `.start`.
  init(startedAt now: Instant) { phase = .running(since: now) }

  mutating func take(_ event: Event, at now: Instant) -> [Effect] {
    switch (phase, event) {
    case (.running, .signalled(let signal)): forward(signal)
    case (.waiting, .signalled(let signal)): signal == SIGHUP ? [] : end(0)
    case (.running(let since), .workerEnded(let end)): workerEnded(end, lived: now - since, at: now)
    case (.waiting, .waited): start(at: now)
    case (.ended, _): []
    case (.running, .waited), (.waiting, .workerEnded):
      preconditionFailure("supervisor: \(event) in \(phase)")
    }
  }

  private mutating func forward(_ signal: Int32) -> [Effect] {
    if signal == SIGHUP { hasHungUp = true } else { isStopping = true }
    return [.forward(signal)]
  }

  private mutating func workerEnded(_ ending: ProcessEnd, lived: Duration, at now: Instant) -> [Effect] {
    if let status = finalStatus(of: ending) { return [.cleanUp] + end(status) }
    if lived >= Self.settledAfter { nextWait = Self.firstWait }
    let wait = nextWait
    nextWait = min(nextWait * 2, Self.longestWait)
    phase = .waiting
    hasHungUp = false
    return [.cleanUp, .report(ending, during: wait)]
  }

  /// Nil if the worker has to be started anew.
  private func finalStatus(of end: ProcessEnd) -> Int32? {
    switch end {
    case .exited(0): 0
    // The statuses of sysexits.h: wrong usage, bad settings, not permitted.
    case .exited(let status) where isStopping || (64...78).contains(status): status
    case .signalled(let signal) where isStopping || (signal == SIGHUP && hasHungUp): 128 + signal
    case .exited, .signalled: nil
    }
  }

  private mutating func start(at now: Instant) -> [Effect] {
    phase = .running(since: now)
    return [.start]
  }

  private mutating func end(_ status: Int32) -> [Effect] {
    phase = .ended
    return [.end(status: status)]
  }
}
