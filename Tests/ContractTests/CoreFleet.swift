import BatonCore
import BatonModel
import BatonStore

@testable import BatonCoordinator

/// The real cores and the real SQL in memory, with clocks that move only when the test moves them. This type does what
/// the daemons do around the cores, without waiting for anything.
struct CoreFleet {
  /// An event of the fleet, which `takeEvents` hands to the test.
  enum Event {
    case started(Assignment)
    case ended(EndingAnswer, LaunchOutcome)
  }

  static let hosts = [HostName("a"), HostName("b")]
  let store: SQLiteStore
  var dispatcher: Dispatcher
  var workers: [HostName: WorkerCore] = [:]
  var now: Now
  /// The launches whose handlers run, each with its host.
  var running: [LaunchKey: HostName] = [:]
  private var due = NextDue()
  private var incarnations = 0
  private var spans: UInt64 = 0
  private var events: [Event] = []

  init(_ store: SQLiteStore, _ definitions: [(DefinitionID, Definition)], at now: Now) throws {
    self.store = store
    self.now = now
    // A lease of thirty years does not end by itself: workers are lost only when the test kills them.
    dispatcher = Dispatcher(leaseTerm: .seconds(1_000_000_000))
    dispatcher.restore(try store.transaction { try $0.fleet() }, at: now)
    for (id, definition) in definitions { dispatcher.learn(id, definition) }
    for host in Self.hosts { try connect(host) }
  }

  mutating func takeEvents() -> [Event] {
    defer { events = [] }
    return events
  }

  mutating func drawSpan() -> SpanID {
    spans += 1
    return SpanID(spans)
  }

  // MARK: Time

  mutating func advance(_ duration: Duration) throws {
    now.instant = now.instant + duration
    now.date = now.date + duration
    now.steady = now.steady + duration
    try settle()
  }

  mutating func stepWallClock(by duration: Duration) throws {
    now.date = now.date + duration
    try settle()
  }

  // MARK: What the coordinator's loops do

  /// Ticks, promotes and dispatches until nothing is left to do at this time.
  mutating func settle() throws {
    try perform(dispatcher.tick(at: now))
    for host in Self.hosts { try perform(workers[host]?.tick(at: now.instant) ?? [], from: host) }
    // The number of rounds is bounded, so that endless work makes the test fail and not hang.
    for _ in 0..<1000 {
      if due.hasCome(at: now.moment) { try promote() } else if try !dispatch() { return }
    }
    throw History.Violation(description: "at \(now.steady): promoting and dispatching come to no end")
  }

  private mutating func promote() throws {
    due = NextDue()
    let promotion = try store.transaction { try $0.promote(at: now.moment, limit: 1000) }
    due.join(promotion.nextDue)
    for requirementClass in promotion.classes.keys { dispatcher.noteReady(requirementClass) }
  }

  private mutating func dispatch() throws -> Bool {
    let reservations = dispatcher.reserveReady(limit: 100)
    guard !reservations.isEmpty else { return false }
    let claims = reservations.map { reservation in
      Claim(
        requirementClass: reservation.requirementClass, lease: reservation.lease,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: drawSpan()) })
    }
    let answers = try store.transaction { try $0.claim(claims, at: now.moment) }
    let before = events.count
    for (reservation, answer) in zip(reservations, answers) {
      due.join(answer.nextDue)
      events += answer.assignments.map { .started($0) }
      try perform(
        dispatcher.settle(
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting))
    }
    // More may start now: a launch may have ended to make room, or a class without further requests may have held
    // places.
    return events.count > before || zip(claims, answers).contains { !$0.places.isEmpty && !$1.hasMore }
  }

  mutating func submit(
    _ submission: Submission, to definition: DefinitionID, _ priority: Priority
  ) throws
    -> SubmissionAnswer
  {
    let offer = SubmissionOffer(submission: submission, definition: definition)
    let answer = try store.transaction { try $0.submit([offer], at: now.moment) }[0]
    if case .accepted(let receipt, let requirementClass, _, _) = answer {
      due.join(receipt.due)
      if receipt.state == .ready { dispatcher.noteReady(requirementClass) }
    }
    return answer
  }

  mutating func cancel(_ selection: RequestSelection) throws {
    for case .stopping(let launch, _, _, _) in try store.transaction({
      try $0.cancel(selection, by: "test", at: now.moment)
    }) {
      try perform(dispatcher.expire(launch, .cancelled(by: "test")))
    }
    // What waited behind a cancelled request may start now.
    let fleet = try store.transaction { try $0.fleet() }
    for requirementClass in fleet.readyClasses { dispatcher.noteReady(requirementClass) }
    due.join(fleet.nextDue)
  }

  private mutating func perform(_ effects: [Dispatcher.Effect]) throws {
    for effect in effects {
      switch effect {
      case .send(let host, let message):
        try perform(workers[host]?.received(message, at: now.instant) ?? [], from: host)
      case .disconnect(let host): dispatcher.disconnected(host)
      case .noteExpiry(let launch, let reason, let process):
        _ = try store.transaction { try $0.noteExpiry(launch, reason, from: process, at: now.moment) }
      case .note(let request, let event, let detail):
        try store.transaction { try $0.note(event, detail: detail, of: request, at: now.moment) }
      case .noteUse(let pattern, let date):
        try store.transaction { try $0.noteUses([pattern: date]) }
      case .endLeaseElsewhere: break
      case .endLease(let lease, let countsAsLoss):
        let answers = try store.transaction { try $0.endLease(lease, countsAsLoss: countsAsLoss, at: now.moment) }
        dispatcher.leaseEnded(lease)
        for answer in answers { note(answer, .lost) }
      }
    }
  }

  private mutating func note(_ answer: EndingAnswer, _ outcome: LaunchOutcome) {
    dispatcher.ended(answer.launch)
    running[answer.launch] = nil
    guard answer.wasLive else { return }
    events.append(.ended(answer, outcome))
    if answer.state == .ready { dispatcher.noteReady(answer.requirementClass) }
    if let released = answer.released { dispatcher.noteReady(released) }
    due.join(answer.nextDue)
  }

  // MARK: Workers

  /// Starts a new worker process on the host. It replaces the host's earlier worker, if there is one.
  mutating func connect(_ host: HostName) throws {
    incarnations += 1
    let core = WorkerCore(
      host: host, incarnation: Incarnation("\(host)-\(incarnations)-\(now.instant.nanoseconds)"), version: "1",
      capabilities: Capabilities(slots: 2), endsProcessOnOverrun: true)
    workers[host] = core
    guard case .send(.hello(let hello))? = workers[host]?.connected(at: now.instant).first else { return }
    try attach(hello)
  }

  private mutating func attach(_ hello: Hello) throws {
    switch dispatcher.hello(hello, from: "test", at: now.instant) {
    case .after(let lease):
      try perform([.endLease(lease, countsAsLoss: true)])
      try attach(hello)
    case .attached(let held):
      let (grant, assignments) = try store.transaction { verbs in
        (
          try verbs.grantLease(hello.host, hello.incarnation, link: 1, report: nil, at: now.moment),
          try verbs.assignments(on: hello.host)
        )
      }
      dispatcher.granted(grant.lease, at: now.instant)
      try perform(
        dispatcher.attached(
          hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments))
    case .refused(let text, _): preconditionFailure("a worker was refused: \(text)")
    }
  }

  /// Kills the host's worker process with all its launches, and starts a new one.
  mutating func kill(_ host: HostName) throws {
    guard let incarnation = workers[host]?.incarnation else { return }
    running = running.filter { $0.value != host }
    try perform(dispatcher.processDied(host, incarnation, isBlameless: false))
    dispatcher.disconnected(host)
    try connect(host)
  }

  mutating func setConditions(_ conditions: Conditions, on host: HostName) throws {
    try perform(workers[host]?.conditionsChanged(conditions, at: now.instant) ?? [], from: host)
  }

  /// The handler of a launch commits one more batch.
  mutating func commit(_ launch: LaunchKey, batches: Int) throws {
    guard let host = running[launch] else { return }
    let commit = Commit(
      cursor: [UInt8(truncatingIfNeeded: batches + 1)], completedUnits: Int64(batches + 1), totalUnits: nil)
    try perform(workers[host]?.ask(launch, .commit(commit), id: batches) ?? [], from: host)
  }

  mutating func end(_ launch: LaunchKey, _ end: HandlerEnd) throws {
    guard let host = running[launch] else { return }
    running[launch] = nil
    try perform(workers[host]?.handlerEnded(launch, end) ?? [], from: host)
  }

  private mutating func perform(_ effects: [WorkerCore.Effect], from host: HostName) throws {
    for effect in effects {
      switch effect {
      case .send(let message): try hear(message, from: host)
      case .start(let assignment, _): running[assignment.launch] = host
      // The handlers of this fleet stop as soon as they are asked to.
      case .expire(let launch, _), .overrun(let launch): try end(launch, .stopped())
      case .answered, .forget, .reconnect, .end, .endProcess: break
      }
    }
  }

  private mutating func hear(_ message: WorkerMessage, from host: HostName) throws {
    guard let incarnation = workers[host]?.incarnation else { return }
    let process = WorkerProcess(host: host, incarnation: incarnation)
    switch message {
    case .heartbeat(let number): try perform(dispatcher.heartbeat(number, from: host, at: now.instant))
    case .conditions(let conditions): dispatcher.conditionsChanged(conditions, on: host)
    case .expiring(let launch, let reason): try perform(dispatcher.workerExpires(launch, reason, on: host))
    case .checkpoint(let checkpoint):
      dispatcher.progressed(
        checkpoint.launch, .batch(completed: checkpoint.completedUnits, of: nil), on: host)
      guard
        case .committed(let batch)? = try store.transaction({
          try $0.checkpoint([checkpoint], from: process, at: now.moment)
        }).first
      else { return }
      try perform([.send(host, .committed(checkpoint.launch, batch: batch))])
    case .ended(let ending):
      let answer = try store.transaction { try $0.end([ending], from: process, at: now.moment) }[0]
      try perform([.send(host, .endingCommitted(ending.launch))])
      note(answer, ending.outcome)
    case .hello, .items, .itemsWanted, .update, .output, .overran, .draining: break
    }
  }
}
