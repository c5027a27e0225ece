import BatonModel

/// A bug that is planted in the shells around the cores. The simulator has to catch each of them, or its checks prove
/// nothing. The raw value describes the bug.
package enum Breakage: String, CaseIterable, Sendable {
  case answersBeforeCommit = "checkpoints are answered when they are heard, not when they are committed"
  case forgetsRequeue = "what the end of a launch makes ready is not told to the dispatcher"
  case runsAhead = "a handler begins the next batch without waiting for the commit of the last"
  case leasesByWallClock = "leases end by the wall clock"
  case forgetsToResend = "a worker's shell does not send what its core says again"
  case newIDForEachAttempt = "a client draws a new id for each attempt"
  case losesLeasesAtRestart = "after a restart all leases are ended"
  case takesUnknownForRefused = "several: a commit whose connection was lost is taken for one that was not made"
  case readsCounterWithoutLock = "several: after a lost connection the counter is read while the commit is being made"

  /// How many coordinators the simulation needs to show the bug.
  package var coordinators: Int { rawValue.hasPrefix("several: ") ? 3 : 1 }

  package static func named(_ name: String) -> Breakage? { allCases.first { "\($0)" == name } }
}

/// One simulated fleet: virtual time, the network, the disk, and the processes around the real cores and the real SQL.
/// `Simulator` makes one for each run.
final class World {
  let schedule: Schedule
  let breakage: Breakage?
  let store: OpenStore
  let journal: Journal
  var trace: Trace
  /// What happened, counted; `nil` if this simulation does not count.
  var coverage: Coverage?
  /// The virtual time since the beginning.
  private(set) var now = Instant(nanoseconds: 0)
  private var queue = EventQueue()
  let machines: [Machine]
  let network: Network
  var coordinatorLives = 0
  var workers: [SimulatedWorker] = []
  /// The processes that are stopped, each with the events that wait until it goes on.
  private var stopped: [Owner: [Event]] = [:]
  var clients: [SimulatedClient] = []
  var flows: [SimulatedFlow] = []
  var draw: Draw
  /// Whether the calm has begun, in which no fault happens.
  var isCalm = false
  var writesAreSlow = false
  var isDiskFull = false
  /// Whether the store refuses all writes that are not urgent.
  var isOverloaded = false
  var isStoreSlow: Bool { writesAreSlow || isDiskFull || isOverloaded }
  /// Until this time the effects of a slow store or network may last. No worker is healthy before it.
  private(set) var settledAt = Instant(nanoseconds: 0)
  private(set) var eventCount = 0
  /// Since when each ready request has had no obstacle on some host.
  var freeSince: [RequestID: Instant] = [:]
  /// Since when each scheduled request has been late.
  var lateSince: [RequestID: Instant] = [:]
  /// Since when the coordinator has regarded each host as away although its worker is healthy.
  var awaySince: [HostName: Instant] = [:]
  /// When a person has set the limit of a key last.
  var limitSetAt: Instant?
  /// When a job with a key has started last.
  var keyTakenAt: Instant?
  /// When launches with a rate have started, on the steady clock, in order.
  var ratedStarts: [Timestamp] = []
  /// What is checked since the store was set back; `nil` if it was not.
  var aftermath: Aftermath?
  /// The processes of workers whose deaths their supervisors have reported.
  var reportedDeaths: Set<Incarnation> = []

  init(_ schedule: Schedule, store: OpenStore, breakage: Breakage? = nil, trace: Trace.Mode = .off) {
    self.schedule = schedule
    self.breakage = breakage
    self.store = store
    self.trace = Trace(trace)
    journal = Journal(schedule)
    machines = (0..<schedule.coordinators).map(Machine.init)
    network = Network(schedule)
    draw = Draw(seed: schedule.seed, stream: 1)
  }

  // MARK: Time

  /// Plans an event of a process, `delay` from now.
  func after(
    _ delay: Duration, for owner: Owner, isTimer: Bool = false, _ action: @escaping () throws -> Void
  ) {
    queue.add(Event(owner: owner, isTimer: isTimer, action: action), at: now + max(delay, .zero))
  }

  /// Plans an event of a process for `time`, or for now if `time` is over.
  func at(_ time: Instant, for owner: Owner, _ action: @escaping () throws -> Void) {
    queue.add(Event(owner: owner, isTimer: false, action: action), at: max(time, now))
  }

  /// Runs the simulation until it is over.
  /// - Throws: `Violation` if a rule is broken, and any other error of the simulated processes.
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
      do { try event.action() } catch let violation as Violation where aftermath != nil && violation.rule != .setBack {
        // What the journal knows is not in the store any more.
      }
      if isOver { return }
    }
  }

  /// Drops everything whose closures keep the world in memory. Otherwise a campaign of 100,000 worlds would use up the
  /// memory.
  private func dismantle() {
    queue = EventQueue()
    (stopped, clients, flows, workers) = ([:], [], [], [])
    for machine in machines {
      machine.coordinator?.abandon()
      machine.coordinator = nil
    }
    network.abandon()
  }

  var isOver = false

  /// 100 times the events that a seed usually takes.
  private static let mostEvents = 500_000

  private func isAlive(_ owner: Owner) -> Bool {
    switch owner {
    case .world: true
    case .coordinator(let life): machines.contains { $0.coordinator?.life == life }
    case .worker(let number, let life): workers[number].isAlive && workers[number].life == life
    }
  }

  /// Adds a line to the trace, after the virtual time in seconds.
  func note(_ line: @autoclosure () -> String) {
    guard trace.mode != .off else { return }
    let milliseconds = now.nanoseconds / 1_000_000
    trace.add("\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())  \(line())")
  }

  /// Allows 5 s from now for the effects of a slow store or network to pass.
  func settle() { settledAt = now + .seconds(5) }

  // MARK: Stopped processes

  func isStopped(_ owner: Owner) -> Bool { stopped[owner] != nil }

  func stop(_ owner: Owner) { stopped[owner] = stopped[owner] ?? [] }

  /// Continues a stopped process. Its events happen at once, in the order in which they came, or with all timers before
  /// or after all other events.
  func goOn(_ owner: Owner) {
    guard let waiting = stopped.removeValue(forKey: owner) else { return }
    machines.first { $0.coordinator?.owner == owner }?.wentOnAt = now
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

/// The clocks of the coordinator's machine: a wall clock that can be wrong, and a monotonic clock that starts again
/// with each boot.
struct WallClock {
  /// The difference of the wall clock from the true time.
  var error = Duration.zero
  var boot = 0
  /// The time that the monotonic clock of this boot would have shown at the beginning of the simulation.
  var instantOffset = Duration.seconds(1_000)

  func now(at time: Instant) -> Now {
    Now(
      instant: time + instantOffset, date: Journal.epoch + .nanoseconds(time.nanoseconds) + error)
  }

  /// Starts the monotonic clock again, at 5 s.
  mutating func reboot(at time: Instant) {
    boot += 1
    instantOffset = .seconds(5) - .nanoseconds(time.nanoseconds)
  }
}
