import BatonCoordinator
import BatonCore
import BatonModel
import BatonStore

/// A random history of requests, which is compared after each step with `Model`: what the contract says, in a few
/// lines.
struct History {
  struct Violation: Error, CustomStringConvertible { let description: String }

  /// The expected requests of one identifier: at most one waiting and one live request.
  struct Model {
    struct Request {
      var number: Int
      var earliest: EarliestBeginDate?
      var submittedSteady: Timestamp
      var poke: PokePriority?
      var launches = 0
      var batches = 0
      var isRunning = false
      var startedSteady: Timestamp?
      /// The time of the calendar for which it stands.
      var scheduledAt: Timestamp?
      var mark = BackfillMark.unrelated
      /// What it waits for, and has waited for.
      var waits: [Wait] = []
      /// Its place among all requests, in the order in which they were submitted.
      var age = 0
      var backoff = Backoff()
    }

    var waiting: Request?
    var live: Request?
    var lastNumber = 0
    var lastFirstLaunch: Timestamp?
    var calendar = Calendar()
  }

  struct Job {
    var definition: Definition
    var id: DefinitionID
  }

  var fleet: CoreFleet
  var draw: Draw
  let jobs: [JobIdentifier: Job]
  let names: [JobIdentifier]
  var models: [JobIdentifier: Model] = [:]
  var use: [IdentifierPattern: DailyUse] = [:]
  private(set) var starts = 0
  /// The launches of requests that stand for a time of the calendar.
  var scheduledStarts = 0
  /// The launches of requests that have waited for others, and the requests that others could not let start any more.
  private(set) var flowStarts = 0
  var flowCancellations = 0
  /// The keys of each job that has some.
  let keys: [JobIdentifier: [LimitKey]]
  /// What is known of the keys of limits that were used or set.
  var limits: [LimitKey: Key] = [:]
  /// The launches of requests that have stood in line for a key, and the changes of limits while requests stood there.
  var keyStarts = 0
  var limitChanges = 0
  /// When the model looked last: the numbers of the requests with keys that could start, as far as their times decide
  /// it, and the key for which each job stood in line.
  var couldStart: [JobIdentifier: Int] = [:]
  var lines: [JobIdentifier: LimitKey] = [:]
  private var ages = 0
  /// The identifiers to which something happened since the last check.
  var touched: Set<JobIdentifier> = []

  init(_ fleet: CoreFleet, jobs: [JobIdentifier: Job], seed: UInt64) {
    self.fleet = fleet
    draw = Draw(seed: seed)
    self.jobs = jobs
    names = jobs.keys.sorted()
    keys = Self.keys(of: jobs)
    for name in names { models[name] = Model() }
  }

  /// Runs `steps` random steps, and then lets every request come to its end.
  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      try step()
      try check()
    }
    try checkReasons()
    try drain()
  }

  // MARK: Steps

  private mutating func step() throws {
    let name = draw.one(of: names)
    touched.insert(name)
    if let flow = Optional(flow(of: name)), !flow.isEmpty, draw.number(0...2) == 0 { try submitFlow(flow) }
    if keys[name] != nil, draw.number(0...1) == 0 { try submitCrowd() }
    fleet.promotesLate = draw.number(0...3) == 0
    switch draw.number(0...99) {
    case 0..<20: try submit(name, poke: nil)
    case 20..<34: try submit(name, poke: draw.number(0...5) == 0 ? .immediate : .considerate)
    case 34..<38: try cancel(name)
    case 38..<52: try advance(.seconds(draw.one(of: [1, 5, 20, 40, 90])))
    case 52..<60: try advance(.seconds(draw.one(of: [300, 600, 900, 1200])))
    case 60..<64: if fleet.running.isEmpty { try advance(.seconds(draw.one(of: [3600, 20_000, 86_400]))) }
    case 64..<76: try handler(name) { try $0.commitBatch(of: name) }
    case 76..<84: try handler(name) { try $0.end(name, .finished) }
    case 84..<88: try handler(name) { try $0.end(name, .failed("it broke")) }
    case 88..<91: try fleet.kill(draw.one(of: CoreFleet.hosts))
    case 91..<93 where fleet.hasOthers: try fleet.move(draw.one(of: CoreFleet.hosts))
    case 91..<92: try fleet.restart()
    case 91..<96: try changeConditions()
    default: try fleet.stepWallClock(by: .seconds(draw.one(of: [-86_400, -3600, 3600, 86_400])))
    }
    try fleet.settle()
    try hear()
    if jobs[name]?.definition.schedule != nil, draw.number(0...3) == 0 { try sayOfSchedule(name) }
    if keys[name] != nil, draw.number(0...2) == 0 { try sayOfLimit() }
  }

  mutating func submit(_ name: JobIdentifier, poke: PokePriority?) throws {
    guard let job = jobs[name], var model = models[name] else { return }
    let earliest: EarliestBeginDate? =
      poke == nil
      ? draw.one(of: [
        nil, nil, .afterSubmission(.seconds(100)), .at(fleet.now.date + .seconds(200)),
        .at(fleet.now.date + .seconds(-5)),
      ]) : nil
    let answer = try fleet.submit(submission(of: name, earliest: earliest, poke: poke), to: job.id)
    guard case .accepted(let receipt, _, _, _) = answer else { throw violation(name, "refused: \(answer)") }
    try expect(receipt.replaced == (model.waiting != nil), name, "it replaces what waits, and nothing else")
    let isUrgent = poke != nil && (poke == .immediate || model.waiting?.poke == .immediate)
    if model.waiting == nil {
      model.lastNumber += 1
      if job.definition.schedule != nil { model.calendar.anchor = earliest?.date }
      ages += 1
    }
    model.waiting = Model.Request(
      number: model.waiting?.number ?? model.lastNumber,
      earliest: job.definition.kind == .continued ? nil : earliest, submittedSteady: fleet.now.steady,
      poke: isUrgent ? .immediate : poke, waits: poke == nil ? [] : model.waiting?.waits ?? [],
      age: model.waiting?.age ?? ages)
    try expect(receipt.number == model.waiting?.number, name, "the number of the waiting request")
    models[name] = model
  }

  mutating func submission(
    of name: JobIdentifier, earliest: EarliestBeginDate? = nil, poke: PokePriority? = nil
  ) -> Submission {
    let span = fleet.drawSpan()
    return Submission(
      id: "\(name)-\(span)", identifier: name, earliestBeginDate: earliest, principal: "test",
      trace: TraceContext(traceID: TraceID(high: span.number, low: span.number), spanID: span, isSampled: true),
      poke: poke)
  }

  private mutating func cancel(_ name: JobIdentifier) throws {
    var cancelled = [models[name]?.waiting]
    models[name]?.waiting = nil
    models[name]?.calendar.backfill = nil
    if models[name]?.live?.isRunning == false {
      cancelled.append(models[name]?.live)
      models[name]?.live = nil
    }
    for request in cancelled.compactMap({ $0 }) { passOn(.cancelled, of: name, request.number) }
    try fleet.cancel(.identifier(name))
  }

  /// Moves the time on. While launches run, it does so in steps of at most 60 s, so that no budget or deadline is
  /// missed by more than that.
  private mutating func advance(_ duration: Duration) throws {
    var left = duration
    while left > .zero {
      let step = fleet.running.isEmpty ? left : min(left, .seconds(60))
      try fleet.advance(step)
      try hear()
      left -= step
    }
  }

  private mutating func handler(_ name: JobIdentifier, _ body: (inout History) throws -> Void) throws {
    guard models[name]?.live?.isRunning == true else { return }
    try body(&self)
  }

  private mutating func commitBatch(of name: JobIdentifier) throws {
    guard let launch = launch(of: name), let live = models[name]?.live else { return }
    try fleet.commit(launch, batches: live.batches)
    models[name]?.live?.batches += 1
  }

  private mutating func end(_ name: JobIdentifier, _ end: HandlerEnd) throws {
    guard let launch = launch(of: name) else { return }
    try fleet.end(launch, end)
  }

  private func launch(of name: JobIdentifier) -> LaunchKey? { open[name] }
  private var open: [JobIdentifier: LaunchKey] = [:]

  private mutating func changeConditions() throws {
    var conditions = Conditions.assumed
    conditions.power.value = draw.one(of: [.external, .battery])
    conditions.thermal.value = draw.one(of: [.nominal, .nominal, .fair, .serious])
    try fleet.setConditions(conditions, on: draw.one(of: CoreFleet.hosts))
  }

  // MARK: Events of the fleet

  mutating func hear() throws {
    leaveOutMissedTimes()
    defer { lookAtReady() }
    for event in fleet.takeEvents() {
      switch event {
      case .started(let assignment): try started(assignment)
      case .ended(let answer, let outcome): try ended(answer, outcome)
      }
    }
  }

  private mutating func started(_ assignment: Assignment) throws {
    let name = assignment.identifier
    touched.insert(name)
    guard let job = jobs[name], var model = models[name] else { throw violation(name, "nobody submitted it") }
    starts += 1
    try expect(open[name] == nil, name, "at most one live launch")
    open[name] = assignment.launch
    if let live = model.live {
      try expect(assignment.requestNumber == live.number && !live.isRunning, name, "the live request goes on first")
    } else {
      guard let waiting = model.waiting else { throw violation(name, "nothing waits") }
      try expect(assignment.requestNumber == waiting.number, name, "the waiting request starts")
      if let reason = tooEarly(waiting, job.definition, model) { throw violation(name, reason) }
      try expect(waiting.waits.allSatisfy { $0.state == .met }, name, "it starts after all that it waits for")
      if !waiting.waits.isEmpty { flowStarts += 1 }
      try checkSchedule(of: waiting, assignment, model, name)
      (model.live, model.waiting) = (waiting, nil)
      if job.definition.kind == .refresh || waiting.poke != nil { model.lastFirstLaunch = fleet.now.steady }
      if job.definition.repeatEvery != nil {
        model.lastNumber += 1
        model.waiting = Model.Request(number: model.lastNumber, submittedSteady: fleet.now.steady)
      }
      if let schedule = job.definition.schedule { model.goOn(after: waiting, schedule, at: fleet.now) }
    }
    let batches = model.live?.batches ?? 0
    try expect(assignment.launch.number == (model.live?.launches ?? 0) + 1, name, "launches are numbered 1, 2, 3")
    try expect(assignment.progress.batches == batches, name, "it goes on from its last checkpoint")
    try expect(
      assignment.progress.cursor == (batches == 0 ? nil : [UInt8(truncatingIfNeeded: batches)]), name, "its cursor")
    try checkAllowance(job.definition, name)
    if let live = model.live { try startWithKeys(name, live) }
    model.live?.launches += 1
    model.live?.isRunning = true
    model.live?.startedSteady = fleet.now.steady
    models[name] = model
  }

  /// Why a request may not start yet; `nil` if its time has come.
  func tooEarly(_ request: Model.Request, _ definition: Definition, _ model: Model) -> String? {
    switch request.earliest {
    case .at(let date): if fleet.now.date < date { return "never before its earliest date" }
    case .afterSubmission(let delay):
      if fleet.now.steady < request.submittedSteady + delay { return "never before its delay is over" }
    case nil: break
    }
    let isSpaced = (definition.kind == .refresh && request.poke != .immediate) || request.poke == .considerate
    guard isSpaced, let last = model.lastFirstLaunch, fleet.now.steady - last < .seconds(900) else { return nil }
    return "first launches are spaced"
  }

  private func checkAllowance(_ definition: Definition, _ name: JobIdentifier) throws {
    guard let allowance = definition.dailyAllowance else { return }
    let used = use[definition.pattern]?.used(at: fleet.now.steady) ?? .zero
    try expect(used < allowance, name, "nothing starts once the allowance is used")
    try expect(used < allowance + .seconds(120), name, "an allowance is not overrun by more than the test's own steps")
  }

  private mutating func ended(_ answer: EndingAnswer, _ outcome: LaunchOutcome) throws {
    let name = answer.identifier
    touched.insert(name)
    guard let definition = jobs[name]?.definition, let live = models[name]?.live, let start = live.startedSteady else {
      throw violation(name, "it ended and was not live")
    }
    try expect(open[name] == answer.launch, name, "what ended is what ran")
    open[name] = nil
    let duration = fleet.now.steady - start
    use[definition.pattern, default: DailyUse()].charge(duration, at: fleet.now.steady)
    if let budget = definition.budget {
      try expect(duration <= budget + .seconds(120), name, "a launch ends when its budget is spent")
    }
    models[name]?.live?.isRunning = false
    models[name]?.live?.backoff.ended(outcome, live, at: fleet.now.steady)
    guard answer.state.isEnded else { return }
    models[name]?.live = nil
    passOn(answer.state, of: name, live.number)
    if let schedule = definition.schedule { models[name]?.leaveOutOverlap(schedule, at: fleet.now.date) }
  }

  // MARK: Checks

  private mutating func check() throws {
    defer { touched = [] }
    for name in touched.sorted() {
      guard let model = models[name] else { continue }
      let live = try model.live.flatMap { try record(name, $0.number) }
      let waiting = try model.waiting.flatMap { try record(name, $0.number) }
      try expect(
        (live != nil) == (model.live != nil) && (waiting != nil) == (model.waiting != nil), name, "both are kept")
      if let live, let wanted = model.live {
        try expect(live.launches == wanted.launches && !live.state.isEnded, name, "the live request is \(live.state)")
        try expect((live.state == .running) == wanted.isRunning, name, "it runs if and only if the store says so")
        try expect(live.progress.batches == wanted.batches, name, "what was committed is kept")
      }
      if let waiting { try expect(waiting.launches == 0 && waiting.state.isPending, name, "the waiting request waits") }
      if let waiting, let wanted = model.waiting {
        try checkTime(of: waiting, wanted, name)
        try checkWaits(of: waiting, wanted, name)
      }
      let last = try record(name, nil)
      if model.live == nil, model.waiting == nil, let last {
        try expect(last.state.isEnded, name, "nothing else is left: \(last.state)")
      }
    }
    try checkLines()
  }

  func record(_ name: JobIdentifier, _ number: Int?) throws -> RequestRecord? {
    try fleet.record(name, number)
  }

  /// Checks that every request runs, has ended, or says why it waits.
  private func checkReasons() throws {
    for name in names {
      for number in [models[name]?.live?.number, models[name]?.waiting?.number].compactMap({ $0 }) {
        guard let found = try record(name, number), let definition = jobs[name]?.definition else { continue }
        switch found.state {
        case .scheduled: try expect(found.waitsBecause != nil, name, "a scheduled request says what it waits for")
        case .ready:
          try expect(
            !fleet.isFree(definition, name), name,
            "a request is ready, nothing is in its way, and it does not start")
        case .running, .succeeded, .failed, .cancelled: break
        }
      }
    }
  }

  /// Without further faults every request must end. Only the chains of repeating jobs go on, until they are cancelled.
  private mutating func drain() throws {
    for host in CoreFleet.hosts { try fleet.setConditions(.assumed, on: host) }
    try fleet.settle()
    try hear()
    for round in 0..<200 {
      for name in names where models[name]?.live?.isRunning == true {
        try end(name, flow(of: name).isEmpty || draw.number(0...2) > 0 ? .finished : .failed("it broke"))
      }
      try fleet.settle()
      try hear()
      try check()
      let isDone = names.allSatisfy { name in
        models[name]?.live == nil && (models[name]?.waiting == nil || jobs[name]?.definition.repeats == true)
      }
      if isDone { return try cancelChains() }
      try advance(round < 100 ? .seconds(120) : .seconds(7200))
    }
    throw violation(names[0], "it does not come to an end: \(models)")
  }

  private mutating func cancelChains() throws {
    for name in names { try cancel(name) }
    for name in names where models[name]?.calendar.isPaused == true { try fleet.resume(name) }
    for key in limits.keys.sorted() { try set(key, nil) }
    touched = Set(names)
    try fleet.settle()
    try hear()
    try check()
  }

  func expect(_ condition: Bool, _ name: JobIdentifier, _ what: @autoclosure () -> String) throws {
    guard condition else { throw violation(name, what()) }
  }

  func violation(_ name: JobIdentifier, _ what: String) -> Violation {
    Violation(
      description:
        "\(name) at \(fleet.now.steady.nanoseconds / 1_000_000_000): \(what); the model says \(models[name].map { "\($0)" } ?? "nothing")"
    )
  }
}

/// Random choices from a seed. The same seed makes the same choices.
struct Draw {
  private var generator: SplitMix64

  init(seed: UInt64) { generator = SplitMix64(seed: seed &* 0x2545_F491_4F6C_DD1D &+ 1) }

  mutating func next() -> UInt64 { generator.next() }
  mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int(truncatingIfNeeded: next() >> 1) % (range.upperBound - range.lowerBound + 1) + range.lowerBound
  }
  mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }
}
