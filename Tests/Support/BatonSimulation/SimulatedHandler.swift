import BatonCore
import BatonModel

/// The handler of one launch. It runs batch after batch and waits for each commit before it begins the next batch. It
/// may ignore an expiry or fail.
final class SimulatedHandler {
  /// When it asked the question that has no answer yet; `nil` if it waits for no answer.
  private(set) var askedAt: Instant?

  private enum Phase: Equatable {
    case idle
    case running
    /// It waits for the coordinator's answer about items.
    case asking
    /// It waits for the answer to a commit.
    case committing
    /// It waits for the answer to a submission.
    case submitting
    case over
  }

  private enum Manner: Equatable {
    case usual
    /// It ignores the request to stop.
    case ignoresExpiry
    /// What happens to it after this many batches of this launch.
    case meets(Schedule.Trouble, after: Int)
  }

  private let launch: LaunchKey
  private let identifier: JobIdentifier
  private let definition: Definition
  private unowned let worker: SimulatedWorker
  private var phase = Phase.idle {
    didSet { askedAt = isAsking ? world.now : nil }
  }
  private var batches: Int
  private let first: Int
  private var frozen: Int?
  /// The end of the items that were sent to the store while the list is frozen; later, the end of the items that were
  /// fetched. An index into the items of the work.
  private var listed = 0
  /// The items that the last question asks for.
  private var wanted: [String] = []
  private var isExpiring = false
  /// It makes no progress until it is asked to stop.
  private var isStalled = false
  private let manner: Manner
  /// What a refresh says that it found.
  private let result: RefreshResult?
  private var draw: Draw
  private let pace: ClosedRange<Int>
  /// The number of the last question. Answers to earlier questions are ignored.
  private var question = 0

  private var world: World { worker.world }
  private var isCommand: Bool { definition.work != nil }
  /// How many batches its shard has, or its request. A split makes the number smaller.
  private var total: Int {
    guard let length = shard?.length else { return world.schedule.batches[identifier, default: 1] }
    return (Int(length) + batchSize - 1) / batchSize
  }
  private var batchSize: Int { definition.work?.batchSize ?? 1 }
  /// The shard as the worker knows it.
  private var shard: Shard? { worker.core.launch(launch) { $0.assignment.shard } ?? nil }
  private var firstItem: Int { Int(shard?.first ?? 0) }
  /// The number of the batch within the whole request, so that a lasting trouble is in one shard and the others finish.
  private var batchOfRequest: Int { firstItem / batchSize + batches }
  var isAsking: Bool { [.asking, .committing, .submitting].contains(phase) }
  /// How many links of its chain follow; `nil` once the next one is submitted, and for other jobs.
  private var links: UInt8?

  init(_ assignment: Assignment, _ definition: Definition, _ worker: SimulatedWorker) {
    launch = assignment.launch
    identifier = assignment.identifier
    (self.definition, self.worker) = (definition, worker)
    batches = assignment.progress.batches
    first = batches
    frozen = assignment.frozenItems
    links = assignment.identifier == Schedule.chain ? assignment.payload?.first.flatMap { $0 > 0 ? $0 : nil } : nil
    let stream = UInt64(bitPattern: launch.request.rawValue) &* 1_000 &+ UInt64(launch.number)
    draw = Draw(seed: worker.world.schedule.seed, stream: (1 << 40) + stream)
    pace = definition.kind == .refresh ? 50...1_500 : 100...2_000
    manner = worker.world.isCalm ? .usual : Self.manner(definition, &draw)
    // Refreshes that find nothing come less often. If they are spaced by 15 minutes already, that takes too long here.
    let found: [RefreshResult?] = [nil, .newData, .failed]
    let all = definition.allowFrequent ? found + [.noData, .noData, .noData] : found
    result = worker.world.isCalm ? .newData : draw.one(of: all)
  }

  private static func manner(_ definition: Definition, _ draw: inout Draw) -> Manner {
    switch draw.number(0...59) {
    case 0...3: .ignoresExpiry
    case 4...7: .meets(.fails, after: draw.number(0...5))
    case 8: .meets(.killsProcess, after: draw.number(0...5))
    case 9...11: definition.endsStalls ? .meets(.stalls, after: draw.number(0...5)) : .usual
    default: .usual
    }
  }

  /// Does the next step: freezes items, fetches them, runs a batch, or ends.
  func goOn() throws {
    guard phase == .idle, worker.handlers[launch] === self else { return }
    if isExpiring, manner != .ignoresExpiry { return try end(isCommand ? .stopped() : Self.failed("cancelled")) }
    if let links { return try submit(links) }
    if definition.work?.items?.needsExpansion == true {
      if frozen == nil, shard?.end == nil { return try freeze() }
      let needed = min((batches + 1) * batchSize, shard?.length.map { Int($0) } ?? total * batchSize)
      if listed < needed { return try fetch() }
    }
    if batches >= total { return try end(.finished) }
    try run()
  }

  // MARK: Batches

  private func run() throws {
    phase = .running
    world.note("\(worker.plan.name): \(launch) begins batch \(batches)")
    try world.journal.began(batches, of: launch)
    if case .meets(let trouble, let count) = manner, batches - first >= count { return meet(trouble) }
    if !world.isCalm, let lasting = world.schedule.troubles[identifier], lasting.batch == batchOfRequest {
      return meet(lasting.kind)
    }
    afterBatch { try $0.commit() }
  }

  private func meet(_ trouble: Schedule.Trouble) {
    world.count(.handler, "meets \(trouble)")
    switch trouble {
    case .fails: afterBatch { try $0.end(Self.failed("it broke")) }
    case .stalls: isStalled = true
    case .killsProcess:
      afterBatch { handler in
        handler.worker.die(word: .loss, losesPower: false, backAfter: handler.draw.milliseconds(50...3_000))
      }
    }
  }

  private func afterBatch(_ body: @escaping (SimulatedHandler) throws -> Void) {
    // Batches are eight times as fast in the calm, where no fault happens and the work only has to end.
    world.after(draw.milliseconds(pace) / (world.isCalm ? 8 : 1), for: worker.owner) { [self] in
      if phase == .running { try body(self) }
    }
  }

  private func commit() throws {
    let after = batches + 1
    var commit = Commit(
      cursor: Checkpoint.cursor(of: launch.request, after: after), completedUnits: completed(after),
      totalUnits: Int64(total * batchSize), reachesEnd: isCommand && after == total)
    commit.result = Schedule.result(of: launch.request, identifier, batch: batches)
    if commit.reachesEnd { return try endWith(commit) }
    phase = .committing
    try ask(.commit(commit))
    guard world.breakage == .runsAhead, phase == .committing, after < total else { return }
    try world.journal.began(after, of: launch)
  }

  /// Ends with the last checkpoint, as a command does. Now and then something else happens to the command in between.
  private func endWith(_ commit: Commit) throws {
    if case .refused? = worker.core.conclude(launch, with: commit) { return try end(Self.failed("refused")) }
    world.count(.handler, "concludes with its last batch")
    world.after(.microseconds(draw.number(1...20) == 1 ? 500_000 : 50), for: worker.owner) { [self] in
      if phase == .running { try end(.finished) }
    }
  }

  /// The units after so many batches. The last batch of a shard may be shorter.
  private func completed(_ batches: Int) -> Int64 {
    let units = Int64(batches * batchSize)
    return shard?.length.map { min(units, $0) } ?? units
  }

  // MARK: Chains

  /// Submits the next request of the chain, before any work: so does a handler that follows BackgroundTasks.
  private func submit(_ links: UInt8) throws {
    phase = .submitting
    try ask(
      .submit(
        LaunchSubmission(
          name: "next", identifier: identifier, payload: [links - 1],
          earliestBeginDate: .afterSubmission(.milliseconds(200)))))
  }

  // MARK: Items

  /// The number of items in a page. It is small, so that a list takes several pages.
  private static let pageSize = 7

  private func freeze() throws {
    phase = .asking
    let all = world.schedule.batches[identifier, default: 1] * batchSize
    let end = min(listed + Self.pageSize, all)
    let items = (listed..<end).map { "item \($0)" }
    let (start, isLast) = (listed, end == all)
    listed = end
    if isLast { (frozen, listed) = (end, batches * batchSize) }
    try ask(.freeze(items, start: start, isLast: isLast))
  }

  private func fetch() throws {
    phase = .asking
    let start = max(listed, batches * batchSize)
    let count = min(2 * batchSize, (shard?.length.map { Int($0) } ?? total * batchSize) - start)
    listed = start + count
    wanted = (start..<listed).map { "item \(firstItem + $0)" }
    try ask(.items(start: firstItem + start, count: count))
  }

  // MARK: Questions and answers

  private func ask(_ next: Dialogue.Question) throws {
    question += 1
    try worker.decide { $0.ask(launch, next, id: question) }
  }

  /// Takes the answer to a question. The handler goes on 50 µs later, because in a real worker it is a task of its own,
  /// apart from the one that takes the answer.
  func answered(_ id: Int, _ answer: Dialogue.Answer) throws {
    guard isAsking, id == question else { return }
    let wasCommitting = phase == .committing
    phase = .idle
    switch answer {
    case .done:
      guard wasCommitting else { break }
      try world.journal.told(batches, of: launch)
      batches += 1
      try world.journal.expect(
        worker.core.launch(launch) { $0.assignment.progress.batches } == batches, .batches,
        "\(launch) was told of batch \(batches - 1), and its worker counts otherwise")
    case .items(let items):
      try world.journal.expect(
        items == wanted, .message, "\(launch) was given \(items) where \(wanted) were asked for")
    case .submitted(.accepted(let accepted)):
      links = nil
      world.count(.handler, accepted.isRepeat ? "had submitted its next" : "submitted its next")
      try world.checkLink(accepted, after: launch)
    case .submitted(.refused), .refused:
      return world.after(.microseconds(50), for: worker.owner) { [self] in
        if phase == .idle { try end(Self.failed("refused")) }
      }
    }
    world.after(.microseconds(50), for: worker.owner) { [self] in try goOn() }
  }

  // MARK: Expiry

  func expire(in window: Duration) throws {
    isExpiring = true
    guard manner != .ignoresExpiry else { return }
    // The handler waits for a commit that it has asked for, but gives up a question about items.
    if phase == .asking {
      worker.core.giveUp(launch, question: question)
      phase = .idle
      return world.after(.microseconds(50), for: worker.owner) { [self] in try goOn() }
    }
    if isStalled, !isCommand {
      return world.after(.milliseconds(100), for: worker.owner) { [self] in try end(Self.failed("cancelled")) }
    }
    // A command that still runs is stopped by its termination margin before the deadline.
    guard isCommand else { return }
    world.after(window - definition.terminationMargin, for: worker.owner) { [self] in
      if phase == .running { try end(.stopped()) }
    }
  }

  /// The deadline has come: a command is killed here. A handler in Swift ends with its process.
  func reachDeadline() throws {
    if isCommand, phase != .over { try end(.stopped(isGraceful: false)) }
  }

  private static func failed(_ text: String) -> HandlerEnd { .failed(text, errorType: "Error") }

  private func end(_ end: HandlerEnd) throws {
    phase = .over
    world.note("\(worker.plan.name): the handler of \(launch) is through, \(end)")
    world.journal.said(end, of: launch)
    world.count(.handler, World.name(of: end))
    if definition.kind == .refresh { world.count(.handler, "result \(result?.rawValue ?? "none")") }
    if let result, definition.kind == .refresh { worker.core.conclude(launch, result) }
    let wasAsked = worker.core.launch(launch) { $0.expiry != nil } ?? false
    try worker.decide { $0.handlerEnded(launch, end) }
    guard wasAsked, end != .finished, case .ended(let ending)? = worker.core.launches[launch]?.life else { return }
    let isExpired = if case .expired = ending.outcome { true } else { false }
    try world.journal.expect(isExpired, .outcome, "\(launch) was asked to stop, and ended \(ending.outcome.text)")
  }
}
