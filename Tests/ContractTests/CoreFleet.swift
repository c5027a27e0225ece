import BatonCore
import BatonModel

@testable import BatonCoordinator
@testable import BatonStore

/// The real cores and the real SQL in memory, with clocks that move only when the test moves them. This type does what
/// the daemons do around the cores, without waiting for anything. There are one or two coordinators; both hear of each
/// other's changes at once.
struct CoreFleet {
  /// An event of the fleet, which `takeEvents` hands to the test.
  enum Event {
    case started(Assignment)
    case ended(EndingAnswer, LaunchOutcome)
  }

  /// A coordinator. The first one is the steward.
  private struct Seat {
    let store: any HistoryStore
    var dispatcher: Dispatcher
  }

  static let hosts = [HostName("a"), HostName("b")]
  private var seats: [Seat] = []
  private let definitions: [(DefinitionID, Definition)]
  /// The coordinator that each worker is connected to.
  private var home: [HostName: Int] = [:]
  var workers: [HostName: WorkerCore] = [:]
  var now: Now
  /// The launches whose handlers run, each with its host.
  var running: [LaunchKey: HostName] = [:]
  private var due = NextDue()
  /// Whether the steward looks at what is due only when the coordinators have started all that is ready.
  var promotesLate = false
  private var incarnations = 0
  private var spans: UInt64 = 0
  private var events: [Event] = []

  /// - Parameter stores: one for each coordinator, all on the same database.
  init(_ stores: [any HistoryStore], _ definitions: [(DefinitionID, Definition)], at now: Now) throws {
    self.now = now
    self.definitions = definitions
    // The workers of an earlier fleet may be at the other coordinator.
    for host in try stores[0].reading({ try $0.fleet() }).hosts where stores.count > 1 {
      guard let incarnation = host.incarnation else { continue }
      let process = WorkerProcess(host: host.name, incarnation: incarnation)
      _ = try stores[0].transaction { try $0.endLease(of: process, countsAsLoss: false, at: now.moment) }
    }
    for store in stores {
      // A lease of thirty years does not end by itself: workers are lost only when the test kills them.
      var seat = Seat(store: store, dispatcher: Dispatcher(leaseTerm: .seconds(1_000_000_000)))
      seat.dispatcher.restore(try store.reading { try $0.fleet() }, at: now)
      for (id, definition) in definitions { seat.dispatcher.learn(id, definition) }
      seats.append(seat)
    }
    for (number, host) in Self.hosts.enumerated() {
      home[host] = number % seats.count
      try connect(host)
    }
  }

  var hasOthers: Bool { seats.count > 1 }

  /// One of the coordinators, each in turn.
  private mutating func anySeat() -> Int {
    turns += 1
    return turns % seats.count
  }
  private var turns = 0

  func record(_ name: JobIdentifier, _ number: Int?) throws -> RequestRecord? {
    try seats[0].store.reading { try $0.request(name, number: number) }
  }

  /// Whether nothing keeps the request from starting on a host, as the coordinator of that host says.
  func isFree(_ definition: Definition, _ name: JobIdentifier) -> Bool {
    seats.indices.contains { number in
      let (all, hosts) = seats[number].dispatcher.obstacles(for: definition, name)
      return all.isEmpty && hosts.contains { home[$0.0] == number && $0.1.isEmpty }
    }
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
    for number in seats.indices { try perform(seats[number].dispatcher.tick(at: now), by: number) }
    for host in Self.hosts { try perform(workers[host]?.tick(at: now.instant) ?? [], from: host) }
    var isLate = promotesLate
    // The number of rounds is bounded, so that endless work makes the test fail and not hang.
    for _ in 0..<1000 {
      if hasOthers { try hear() }
      if !isLate, due.hasCome(at: now.moment) {
        try promote()
      } else {
        var isBusy = false
        for number in seats.indices where try dispatch(number) { isBusy = true }
        if !isBusy, !isLate { return }
        isLate = isLate && isBusy
      }
    }
    throw History.Violation(description: "at \(now.steady): promoting and dispatching come to no end")
  }

  /// Each coordinator reads what the others have changed, as it does once a second.
  private mutating func hear() throws {
    for number in seats.indices {
      let fleet = try seats[number].store.reading { try $0.fleet() }
      try perform(seats[number].dispatcher.hear(fleet, at: now.instant), by: number)
      due.join(fleet.nextDue)
    }
  }

  private mutating func promote() throws {
    due = NextDue()
    let promotion = try seats[0].store.transaction { try $0.promote(at: now.moment, limit: 1000) }
    due.join(promotion.nextDue)
    for requirementClass in promotion.classes.keys { noteReady(requirementClass) }
  }

  private mutating func noteReady(_ requirementClass: RequirementClass) {
    for number in seats.indices { seats[number].dispatcher.noteReady(requirementClass) }
  }

  private mutating func dispatch(_ number: Int) throws -> Bool {
    let reservations = seats[number].dispatcher.reserveReady(limit: 100)
    guard !reservations.isEmpty else { return false }
    let claims = reservations.map { reservation in
      Claim(
        requirementClass: reservation.requirementClass, lease: reservation.lease,
        places: reservation.places.map { Claim.Place(gpus: $0, spanID: drawSpan()) })
    }
    let answers = try seats[number].store.transaction { try $0.claim(claims, at: now.moment) }
    let before = events.count
    for (reservation, answer) in zip(reservations, answers) {
      due.join(answer.nextDue)
      events += answer.assignments.map { .started($0) }
      try perform(
        seats[number].dispatcher.settle(
          reservation, with: answer.assignments, hasMore: answer.hasMore, hasFitting: answer.hasFitting), by: number)
    }
    // More may start now: a launch may have ended to make room, or a class without further requests may have held
    // places.
    return events.count > before || zip(claims, answers).contains { !$0.places.isEmpty && !$1.hasMore }
  }

  mutating func submit(_ submission: Submission, to definition: DefinitionID) throws -> SubmissionAnswer {
    let offer = SubmissionOffer(submission: submission, definition: definition)
    let answer = try seats[anySeat()].store.transaction { try $0.submit([offer], at: now.moment) }[0]
    note(answer)
    return answer
  }

  mutating func submitFlow(_ offers: [SubmissionOffer]) throws -> [SubmissionAnswer] {
    let answers = try seats[anySeat()].store.transaction { try $0.submitFlow(offers, at: now.moment) }
    for answer in answers { note(answer) }
    return answers
  }

  private mutating func note(_ answer: SubmissionAnswer) {
    guard case .accepted(let receipt, let requirementClass, _, _) = answer else { return }
    due.join(receipt.due)
    if receipt.state == .ready { noteReady(requirementClass) }
  }

  /// What the request waits for, and has waited for.
  func awaited(by request: RequestID) throws -> [AwaitedRequest] {
    try seats[0].store.reading { try $0.awaited(by: request) }
  }

  // MARK: Schedules

  mutating func pause(_ name: JobIdentifier) throws {
    try say { try $0.pauseSchedule(of: name, by: "test", because: "because", at: $1) }
  }

  mutating func resume(_ name: JobIdentifier) throws {
    try say { _ = try $0.resumeSchedule(of: name, at: $1) }
  }

  mutating func backfill(_ name: JobIdentifier, _ backfill: Backfill) throws {
    let span = drawSpan()
    let seed = TraceContext(
      traceID: TraceID(high: span.number, low: span.number), spanID: span, isSampled: true)
    try say { try $0.startBackfill(of: name, backfill, seed: seed, at: $1) }
  }

  mutating func stopBackfill(_ name: JobIdentifier) throws {
    try say { _ = try $0.stopBackfill(of: name, at: $1) }
  }

  // MARK: Limits by key

  mutating func setLimit(_ key: LimitKey, _ setting: LimitSetting?) throws {
    try say { _ = try $0.setLimit(key, setting, at: $1) }
  }

  /// What the store says of the key; `nil` if it says nothing.
  func limit(_ key: LimitKey) throws -> LimitRecord? {
    try seats[0].store.reading { verbs in
      try verbs.limits(beginningWith: key.text, after: nil, limit: 20, at: now.moment).first { $0.key == key }
    }
  }

  /// Says something of a schedule or a limit at one of the coordinators, which then finds out what is ready.
  private mutating func say(_ word: (Verbs, Moment) throws -> Void) throws {
    try seats[anySeat()].store.transaction { try word($0, now.moment) }
    let fleet = try seats[0].store.reading { try $0.fleet() }
    for requirementClass in fleet.readyClasses { noteReady(requirementClass) }
    due.join(fleet.nextDue)
  }

  /// The first coordinator starts again: it has nothing but what is stored. Its workers connect again.
  mutating func restart() throws {
    let store = seats[0].store
    var dispatcher = Dispatcher(leaseTerm: .seconds(1_000_000_000))
    let fleet = try store.reading { try $0.fleet() }
    dispatcher.restore(fleet, at: now)
    for (id, definition) in definitions { dispatcher.learn(id, definition) }
    seats[0].dispatcher = dispatcher
    due = fleet.nextDue
    for host in Self.hosts where home[host] == 0 {
      turns += 1
      guard case .send(.hello(let hello))? = workers[host]?.connected(at: now.instant).first else { continue }
      try attach(hello)
    }
  }

  mutating func cancel(_ selection: RequestSelection) throws {
    let number = anySeat()
    for case .stopping(let launch, _, _, let host) in try seats[number].store.transaction({
      try $0.cancel(selection, by: "test", at: now.moment)
    }) where home[host] == number {
      // The coordinator of another host hears of it.
      try perform(seats[number].dispatcher.expire(launch, .cancelled(by: "test")), by: number)
    }
    // What waited behind a cancelled request may start now.
    let fleet = try seats[0].store.reading { try $0.fleet() }
    for requirementClass in fleet.readyClasses { noteReady(requirementClass) }
    due.join(fleet.nextDue)
  }

  private mutating func perform(_ effects: [Dispatcher.Effect], by number: Int) throws {
    let store = seats[number].store
    for effect in effects {
      switch effect {
      case .send(let host, let message):
        if home[host] == number { try perform(workers[host]?.received(message, at: now.instant) ?? [], from: host) }
      case .disconnect(let host): seats[number].dispatcher.disconnected(host)
      case .noteExpiry(let launch, let reason, let process):
        _ = try store.transaction { try $0.noteExpiry(launch, reason, from: process, at: now.moment) }
      case .note(let request, let event, let detail):
        try store.transaction { try $0.note(event, detail: detail, of: request, at: now.moment) }
      case .noteUse(let pattern, let date):
        try store.transaction { try $0.noteUses([pattern: date]) }
      case .endLeaseElsewhere: break
      case .endLease(let lease, let countsAsLoss):
        let answers = try store.transaction { try $0.endLease(lease, countsAsLoss: countsAsLoss, at: now.moment) }
        seats[number].dispatcher.leaseEnded(lease)
        for answer in answers { note(answer, .lost, by: number) }
      }
    }
  }

  private mutating func note(_ answer: EndingAnswer, _ outcome: LaunchOutcome, by number: Int) {
    seats[number].dispatcher.ended(answer.launch)
    running[answer.launch] = nil
    guard answer.wasLive else { return }
    events.append(.ended(answer, outcome))
    if answer.state == .ready { noteReady(answer.requirementClass) }
    if let released = answer.released { noteReady(released) }
    for released in answer.flow.released { noteReady(released.requirementClass) }
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
    guard let number = home[hello.host] else { return }
    switch seats[number].dispatcher.hello(hello, from: "test", at: now.instant) {
    case .after(let lease):
      try perform([.endLease(lease, countsAsLoss: true)], by: number)
      try attach(hello)
    case .attached(let held):
      let store = seats[number].store
      let grant = try store.transaction {
        try $0.grantLease(hello.host, hello.incarnation, link: Int64(turns), report: nil, at: now.moment)
      }
      let assignments = try store.reading { try $0.assignments(on: hello.host) }
      seats[number].dispatcher.granted(grant.lease, at: now.instant)
      for answer in grant.ended { note(answer, .lost, by: number) }
      try perform(
        seats[number].dispatcher.attached(
          hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments), by: number)
    case .refused(let text, _): preconditionFailure("a worker was refused: \(text)")
    }
  }

  /// Kills the host's worker process with all its launches, and starts a new one.
  mutating func kill(_ host: HostName) throws {
    guard let incarnation = workers[host]?.incarnation, let number = home[host] else { return }
    running = running.filter { $0.value != host }
    try perform(seats[number].dispatcher.processDied(host, incarnation, isBlameless: false), by: number)
    seats[number].dispatcher.disconnected(host)
    try connect(host)
  }

  /// The host's worker loses its connection, and connects to the other coordinator. Its launches go on.
  mutating func move(_ host: HostName) throws {
    guard let number = home[host] else { return }
    seats[number].dispatcher.disconnected(host)
    home[host] = (number + 1) % seats.count
    turns += 1
    guard case .send(.hello(let hello))? = workers[host]?.connected(at: now.instant).first else { return }
    try attach(hello)
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
    guard let incarnation = workers[host]?.incarnation, let number = home[host] else { return }
    let process = WorkerProcess(host: host, incarnation: incarnation)
    let store = seats[number].store
    switch message {
    case .heartbeat(let sent):
      try perform(seats[number].dispatcher.heartbeat(sent, from: host, at: now.instant), by: number)
    case .conditions(let conditions): seats[number].dispatcher.conditionsChanged(conditions, on: host)
    case .expiring(let launch, let reason):
      try perform(seats[number].dispatcher.workerExpires(launch, reason, on: host), by: number)
    case .checkpoint(let checkpoint):
      seats[number].dispatcher.progressed(
        checkpoint.launch, .batch(completed: checkpoint.completedUnits, of: nil), on: host)
      guard
        case .committed(let batch, _)? = try store.transaction({
          try $0.checkpoint([checkpoint], from: process, at: now.moment)
        }).first
      else { return }
      try perform([.send(host, .committed(checkpoint.launch, batch: batch))], by: number)
    case .ended(let ending):
      let answer = try store.transaction { try $0.end([ending], from: process, at: now.moment) }[0]
      try perform([.send(host, .endingCommitted(ending.launch))], by: number)
      note(answer, ending.outcome, by: number)
    case .hello, .items, .itemsWanted, .update, .output, .overran, .submission, .draining, .transfers: break
    }
  }
}
