import BatonBase
import BatonModel

/// Decides what a supervisor does about its worker. There is one worker at a time. It is started again when it dies,
/// until the supervisor is asked to stop, or the worker ends in a way that another start would not change.
/// `SupervisorShell` performs the effects.
struct SupervisorMachine: Hashable, Sendable {
  enum Event: Hashable, Sendable {
    /// The supervisor received this signal.
    case signalled(Int32)
    case workerEnded(ProcessEnd)
    case waited
  }

  enum Effect: Hashable, Sendable {
    case start
    case forward(Int32)
    /// Kill the processes that the dead worker left. This comes before the report of its death.
    case cleanUp
    /// Report the worker's death, and wait for this time before the next start.
    case report(ProcessEnd, during: Duration)
    case end(status: Int32)
  }

  private enum Phase: Hashable, Sendable {
    case running(since: Instant)
    case waiting
    case ended
  }

  /// The wait before the second start (Documentation/reference/limits.md). The wait doubles with each start up to
  /// `longestWait`. After a worker that has lived for `settledAfter`, it is `firstWait` again.
  static let firstWait = Duration.seconds(1)
  static let longestWait = Duration.seconds(30)
  static let settledAfter = Duration.seconds(60)

  private var phase: Phase
  private var nextWait = firstWait
  private var isStopping = false
  private var hasHungUp = false

  /// The machine starts as if the worker runs: the caller performs the first `.start` itself.
  init(startedAt now: Instant) { phase = .running(since: now) }

  /// Takes an event and returns the effects to perform, in order.
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

  /// The status with which the supervisor ends; `nil` if the worker has to be started again.
  private func finalStatus(of end: ProcessEnd) -> Int32? {
    switch end {
    case .exited(0): 0
    // The statuses of sysexits.h, such as wrong usage, wrong settings or missing permission.
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
