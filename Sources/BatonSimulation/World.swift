import BatonModel

/// What a planted mistake in the shells around the cores does: each has to be caught, or the checks are worth nothing.
package enum Breakage: String, CaseIterable, Sendable {
  case answersBeforeCommit = "checkpoints are answered when they are heard, not when they are committed"
  case forgetsRequeue = "what the end of a launch makes ready is not told to the dispatcher"
  case runsAhead = "a handler begins the next batch without waiting for the commit of the last"
  case leasesByWallClock = "leases end by the wall clock"
  case forgetsToResend = "a worker's shell does not send what its core says again"
  case newIDForEachAttempt = "a client draws a new id for each attempt"
  case losesLeasesAtRestart = "after a restart all leases are ended"

  package static func named(_ name: String) -> Breakage? { allCases.first { "\($0)" == name } }
}

/// One simulated fleet: virtual time, the network, the disk, and the processes around the real cores and the real SQL.
final class World {
  let schedule: Schedule
  let breakage: Breakage?
  let store: OpenStore
  let journal: Journal
  var trace: Trace
  /// Since the beginning.
  private(set) var now = Instant(nanoseconds: 0)
  private var queue = EventQueue()
  var clocks = WallClock()
  let network: Network
  var coordinator: SimulatedCoordinator?
  var coordinatorLives = 0
  var workers: [SimulatedWorker] = []
  /// Processes that are stopped, and what would have happened to them.
  private var stopped: [Owner: [Event]] = [:]
  var clients: [SimulatedClient] = []
  var draw: Draw
  /// Nothing goes wrong any more.
  var isCalm = false
  var crash: Fault.CrashPoint?
  var crashPlan: (downFor: Duration, reboots: Bool)?
  var writesAreSlow = false
  var isDiskFull = false
  var isStoreSlow: Bool { writesAreSlow || isDiskFull }
  /// What was slow is through by then.
  private(set) var settledAt = Instant(nanoseconds: 0)
  private(set) var eventCount = 0
  /// Since when nothing kept a ready request from starting.
  var freeSince: [RequestID: Instant] = [:]
  /// Since when something is late that nothing keeps from happening.
  var lateSince: [RequestID: Instant] = [:]
  /// Since when the coordinator takes a worker for away that hears everything.
  var awaySince: [HostName: Instant] = [:]
  /// When each host's worker was last heard of by the present coordinator.
  var heard: [HostName: Instant] = [:]

  init(_ schedule: Schedule, store: OpenStore, breakage: Breakage? = nil, trace: Trace.Mode = .off) {
    self.schedule = schedule
    self.breakage = breakage
    self.store = store
    self.trace = Trace(trace)
    journal = Journal(schedule)
    network = Network(schedule)
    draw = Draw(seed: schedule.seed, stream: 1)
  }

  // MARK: Time

  func after(
    _ delay: Duration, for owner: Owner, isTimer: Bool = false, _ action: @escaping () throws -> Void
  ) {
    queue.add(Event(owner: owner, isTimer: isTimer, action: action), at: now + max(delay, .zero))
  }

  /// As `after`, and not before what was planned for `earliest`.
  func at(_ time: Instant, for owner: Owner, _ action: @escaping () throws -> Void) {
    queue.add(Event(owner: owner, isTimer: false, action: action), at: max(time, now))
  }

  /// Runs until everything has ended.
  func run() throws {
    defer { dismantle() }
    try begin()
    while let (time, event) = queue.takeFirst() {
      now = time
      journal.now = .nanoseconds(now.nanoseconds)
      guard isAlive(event.owner) else { continue }
      if !stopped.isEmpty, stopped[event.owner] != nil {
        stopped[event.owner]?.append(event)
        continue
      }
      eventCount += 1
      guard eventCount <= Self.mostEvents else {
        throw journal.violation(.liveness, "\(eventCount) events, and it goes on: something goes round in circles")
      }
      try event.action()
      if isOver { return }
    }
  }

  /// What is left holds on to the world, and to itself: a hundred thousand worlds would fill any memory.
  private func dismantle() {
    queue = EventQueue()
    (stopped, clients, workers) = ([:], [], [])
    coordinator?.abandon()
    coordinator = nil
    network.abandon()
  }

  var isOver = false

  /// A hundred times as many as a seed takes.
  private static let mostEvents = 500_000

  private func isAlive(_ owner: Owner) -> Bool {
    switch owner {
    case .world: true
    case .coordinator(let life): coordinator?.life == life
    case .worker(let number, let life): workers[number].isAlive && workers[number].life == life
    }
  }

  func note(_ line: @autoclosure () -> String) {
    guard trace.mode != .off else { return }
    let milliseconds = now.nanoseconds / 1_000_000
    trace.add("\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())  \(line())")
  }

  func settle() { settledAt = now + .seconds(5) }

  // MARK: Stopped processes

  func isStopped(_ owner: Owner) -> Bool { stopped[owner] != nil }

  func stop(_ owner: Owner) { stopped[owner] = stopped[owner] ?? [] }

  /// Everything that waited happens at once: in the order in which it came, or with the clock's events before or after
  /// all others.
  func goOn(_ owner: Owner) {
    guard let waiting = stopped.removeValue(forKey: owner) else { return }
    let timers = waiting.filter(\.isTimer)
    let others = waiting.filter { !$0.isTimer }
    let ordered = [waiting, timers + others, others + timers][draw.number(0...2)]
    for event in ordered { queue.add(event, at: now) }
  }

  func goOnAll() {
    for owner in stopped.keys.sorted(by: { $0.order < $1.order }) { goOn(owner) }
  }
}

extension Owner {
  fileprivate var order: (Int, Int) {
    switch self {
    case .world: (-2, 0)
    case .coordinator(let life): (-1, life)
    case .worker(let number, let life): (number, life)
    }
  }
}

/// The wall clock and the boots of the coordinator's machine.
struct WallClock {
  /// How wrong the wall clock is.
  var error = Duration.zero
  var boot = 0
  /// What the monotonic clock of this boot showed at the beginning, if it had run then.
  var instantOffset = Duration.seconds(1_000)

  func now(at time: Instant) -> Now {
    Now(
      instant: time + instantOffset, date: Journal.epoch + .nanoseconds(time.nanoseconds) + error)
  }

  /// The monotonic clock begins anew.
  mutating func reboot(at time: Instant) {
    boot += 1
    instantOffset = .seconds(5) - .nanoseconds(time.nanoseconds)
  }
}
