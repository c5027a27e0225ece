import BatonCoordinator
import BatonCore
import BatonModel
import BatonStore

/// The record, kept outside the store, of what clients, handlers and the disk saw. Each step of a simulation is checked
/// against it and throws a `Violation` if it breaks a promise.
final class Journal {
  struct Request {
    var identifier: JobIdentifier
    var definition: Definition
    /// The number of batches whose commits were seen.
    var committed = 0
    /// The number of batches whose commit was confirmed to a handler.
    var acknowledged = 0
    /// The number of batches that a handler has begun, over all launches. A launch may not begin a batch beyond this
    /// number, because that would skip a batch.
    var begun = 0
    var reachedEnd = false
    var launches = 0
    var open: LaunchKey?
    /// The earliest time of the next launch after a failure; `nil` if there is no backoff.
    var restsUntil: Time?
    var failures = 0
    /// The launches in a row that were lost, and those that are strikes, since the last batch.
    var losses = 0
    var strikes = 0
    var hasEnded = false
    /// When a launch of it ended last.
    var endedAt: Time?
    /// The request of which this is a shard; its own id for a request itself.
    var head: RequestID
    /// The shard, with its range as the store has said it last; `nil` if the request is not divided.
    var shard: Shard?
  }

  /// A request that is divided, and which of its units are in a committed batch of which shard.
  struct Division {
    /// The shard that committed each batch of the request, by the batch's first unit.
    var owners: [Int64: RequestID] = [:]
    /// At most this many shards may start.
    var lanes: Int
    /// An operator has lowered the number, so a shard may wait for a lane.
    var wasLowered = false
    var isOver = false
    /// A person has cancelled the request, or a shard has failed and stops the others: no shard starts any more.
    var isStopping = false
    /// The rows of shards that have succeeded. A retry starts none of them.
    var succeeded: Set<RequestID> = []
  }

  /// A point in time by the simulator's own clocks.
  struct Time {
    /// Virtual time since the beginning.
    var elapsed: Duration
    /// The wall clock of the coordinator's machine.
    var date: Timestamp
    /// The number of the boot of that machine.
    var boot: Int
    /// The coordinator's steady clock. It decides only about waits across a reboot, which it may measure wrongly.
    var steady: Timestamp

    func after(_ delay: Duration) -> Time {
      Time(elapsed: elapsed + delay, date: date + delay, boot: boot, steady: steady + delay)
    }

    /// Whether a wait until `end` should be over. The clock of a fleet that had no steward for a while has lost that
    /// while, so it decides itself where several coordinators may have been the steward.
    /// - Parameter lag: as in `isAfter`; zero where one coordinator has the store for itself.
    func isDue(_ end: Time, lag: Duration) -> Bool {
      lag == .zero ? boot == end.boot && elapsed >= end.elapsed : steady >= end.steady + lag
    }

    /// Whether a wait until `end` is over.
    /// - Parameter lag: how far the clock of a coordinator may be behind the clock that ends the wait.
    func isAfter(_ end: Time, lag: Duration) -> Bool {
      elapsed + lag >= end.elapsed || (boot != end.boot && steady >= end.steady)
    }
  }

  struct Launch {
    var host: HostName
    var incarnation: Incarnation
    var gpus: [Int]
    var spanID: SpanID
    var isSimulated: Bool
    /// When it made progress last: it started, or the store took a batch or a page of items, or gave it items.
    var steppedAt: Duration
    var firstBatch: Int
    /// The number of batches that the handler began in this launch. `acknowledged` is the number of those whose commit
    /// was confirmed to it.
    var begun = 0
    var acknowledged = 0
    /// The outcome that the store recorded; `nil` while the launch is open.
    var outcome: LaunchOutcome?
    var endedAt: Duration?
    /// The first reason for which the launch was asked to stop, and the virtual time of that.
    var asked: (reason: ExpiryReason, at: Duration)?
    /// The coordinator has told its worker that it has stalled.
    var isToldOfStall = false
    /// The first end that its handler reported.
    var said: HandlerEnd?
  }

  /// An operator's word that is in force: a pause, a drain or an eviction.
  struct Wish {
    /// The host that the word concerns; `nil` for the whole fleet. A `nil` pattern means every job.
    var host: HostName?
    var pattern: IdentifierPattern?
    var since: Duration
    var text: String { "\(pattern.map { "\($0)" } ?? "everything") off \(host.map { "\($0)" } ?? "the fleet")" }

    func concerns(_ name: HostName, _ identifier: JobIdentifier) -> Bool {
      host ?? name == name && pattern?.matches(identifier) ?? true
    }
  }

  let schedule: Schedule
  /// Of several coordinators, only one keeps the steady clock. The others are behind by the time that a reading takes
  /// to them, here at most three transactions with a slow store.
  var lag: Duration { schedule.coordinators > 1 ? .seconds(3) : .zero }
  private(set) var wishes: [Wish] = []
  /// The jobs whose schedules are paused.
  private(set) var pausedSchedules: Set<JobIdentifier> = []
  /// The last time of the calendar for which a request of each job has started, with the number of the request; `nil`
  /// after a backfill has begun, whose times are earlier.
  var lastScheduled: [JobIdentifier: (number: Int, time: Timestamp)] = [:]
  var everBackfilled: Set<JobIdentifier> = []
  /// The hosts that operators' words ever concerned; `nil` is in it if a word concerned the fleet.
  private var everWished: Set<HostName?> = []
  var requests: [RequestID: Request] = [:]
  /// The requests that are divided into shards.
  var divisions: [RequestID: Division] = [:]
  /// The numbers of lanes that operators have set before requests were divided.
  var lanesBefore: [RequestID: Int] = [:]
  var launches: [LaunchKey: Launch] = [:]
  /// The request of each acknowledged submission, by the id of the submission.
  /// The requests that an operator has retried.
  var everRetried: Set<RequestID> = []
  var receipts: [String: (request: RequestID, number: Int)] = [:]
  /// The requests that launches of each request have submitted, which the store has committed, by their numbers.
  private(set) var links: [RequestID: Set<Int>] = [:]
  /// Since when, and until when, each definition that was removed was absent.
  private var absences: [IdentifierPattern: (from: Duration, until: Duration?)] = [:]
  var acceptedAt: [RequestID: (plan: Schedule.RequestPlan, at: Time)] = [:]
  /// Whether the steady clock leapt a week ahead, because the machine was rebooted while its wall clock was wrong. The
  /// ids of submissions are kept for a week.
  var mayForgetSubmissions = false
  /// The open launches of each host.
  var open: [HostName: Set<LaunchKey>] = [:]
  /// Requests that were cancelled while they waited. `stopping` has those that were cancelled while they ran.
  var cancelledWaiting: Set<RequestID> = []
  var stopping: Set<RequestID> = []
  /// Requests that the store has deleted, because their retention was over.
  var pruned: Set<RequestID> = []
  var spanIDs: Set<SpanID> = []
  /// How many refreshes of each identifier in a row found nothing.
  var noDataInRow: [JobIdentifier: Int] = [:]
  /// When the last first launch of each identifier started.
  var lastFirstLaunch: [JobIdentifier: Time] = [:]
  /// The spans that were sent to the tracing backend.
  var sentSpans: [SpanKey: SpanSource] = [:]
  /// The number of batches that handlers have begun, repetitions included.
  private(set) var batchCount = 0
  /// Virtual time since the beginning.
  var now = Duration.zero

  /// Whether no launch is open.
  var isQuiet: Bool { open.allSatisfy { $0.value.isEmpty } }

  init(_ schedule: Schedule) { self.schedule = schedule }

  func violation(_ rule: Violation.Rule, _ text: String) -> Violation { Violation(rule: rule, text: text, at: now) }

  /// Whether the store does not contain any more what this journal knows of it: it was set back.
  var isVoid = false

  func expect(_ condition: Bool, _ rule: Violation.Rule, _ text: @autoclosure () -> String) throws {
    if isVoid { return }
    guard condition else { throw violation(rule, text()) }
  }

  /// Records an operator's word that the store has committed.
  func wished(_ word: CoordinatorCore.Word) {
    switch word {
    case .pause(let isPaused): wished(nil, off: nil, isPaused)
    case .drain(let host, let isDraining): wished(nil, off: host, isDraining)
    case .evict(let pattern, let host, let isEvicted): wished(pattern, off: host, isEvicted)
    }
  }

  /// Adds the wish that a job, or every job, leaves a host, or takes the wish back.
  private func wished(_ pattern: IdentifierPattern?, off host: HostName?, _ isWished: Bool) {
    wishes.removeAll { $0.host == host && $0.pattern == pattern }
    everWished.insert(host)
    if isWished { wishes.append(Wish(host: host, pattern: pattern, since: now)) }
  }

  /// Records that the store has a pause of the schedule of this job, or that it has none any more.
  func schedule(of identifier: JobIdentifier, isPaused: Bool) {
    if isPaused { pausedSchedules.insert(identifier) } else { pausedSchedules.remove(identifier) }
  }

  func wasWished(off host: HostName) -> Bool { everWished.contains(host) || everWished.contains(nil) }

  // MARK: Definitions

  func removed(_ pattern: IdentifierPattern) { absences[pattern] = (now, nil) }

  func applied(_ pattern: IdentifierPattern) {
    if let absence = absences[pattern], absence.until == nil { absences[pattern] = (absence.from, now) }
  }

  func isAbsent(_ pattern: IdentifierPattern) -> Bool { absences[pattern].map { $0.until == nil } ?? false }

  /// Checks that a submission is refused as not permitted only if its definition was removed, or was until 30 s ago: a
  /// coordinator that was stopped may hear late that the definition is back.
  func checkAbsence(of identifier: JobIdentifier) throws {
    let isAbsent = absences.contains { pattern, absence in
      pattern.matches(identifier) && absence.until.map { now - $0 < .seconds(30) } ?? true
    }
    try expect(isAbsent, .crash, "\(identifier) is not permitted, and was not removed")
  }

  // MARK: Submissions

  /// Checks a receipt that a client got: each id of a submission always has the same request.
  func acknowledged(_ plan: Schedule.RequestPlan, _ receipt: SubmissionReceipt) throws {
    if let known = receipts[plan.id], !mayForgetSubmissions {
      try expect(
        known == (receipt.request, receipt.number), .submissionLost,
        "\(plan.id) was answered with request \(known.request), and now with \(receipt.request)")
    }
    receipts[plan.id] = (receipt.request, receipt.number)
  }

  /// Records what a launch of a chain has submitted, and checks that each request submits its next one once.
  func linked(_ number: Int, after launch: LaunchKey, isRepeat: Bool, isChecked: Bool) throws {
    let isFirst = links[launch.request, default: []].isEmpty
    try expect(
      isFirst != isRepeat || mayForgetSubmissions || !isChecked, .submissionLost,
      "\(launch) has submitted request \(number), first \(isFirst), repeat \(isRepeat)")
    links[launch.request, default: []].insert(number)
  }

  /// Records the clocks of a coordinator that starts.
  func began(at time: Time) {
    if time.steady - Self.epoch - time.elapsed > .seconds(6 * 86_400) { mayForgetSubmissions = true }
  }

  /// Records a new request, which the store has committed.
  func submitted(_ plan: Schedule.RequestPlan, _ receipt: SubmissionReceipt, at time: Time) throws {
    if !receipt.replaced { try checkPendingLimit(plan.identifier, isRefused: false) }
    try acknowledged(plan, receipt)
    acceptedAt[receipt.request] = (plan, time)
  }

  // MARK: Batches

  /// Checks that a handler begins the next batch of its launch, after the commit of the previous batch was confirmed.
  func began(_ batch: Int, of launch: LaunchKey) throws {
    guard var log = launches[launch], var request = requests[launch.request] else {
      throw violation(.batches, "\(launch) runs, and was never started")
    }
    batchCount += 1
    let next = log.firstBatch + log.begun
    try expect(batch == next, .batches, "\(launch) begins batch \(batch) where \(next) is its next")
    try expect(
      log.begun == log.acknowledged, .batches,
      "\(launch) begins batch \(batch) and was not told of the commit of the one before")
    try expect(batch <= request.begun, .batches, "\(launch) begins batch \(batch); \(request.begun) was skipped")
    try expect(
      batch >= request.acknowledged || request.open != launch, .checkpointLost,
      "\(launch) repeats batch \(batch); \(request.acknowledged) are acknowledged")
    log.begun += 1
    request.begun = max(request.begun, batch + 1)
    launches[launch] = log
    requests[launch.request] = request
  }

  /// Records that a commit was confirmed to a handler, and checks that the store had made it.
  func told(_ batch: Int, of launch: LaunchKey) throws {
    guard var request = requests[launch.request] else { return }
    try expect(
      batch < request.committed, .checkpointLost, "batch \(batch) of \(launch) is acknowledged and was not committed")
    request.acknowledged = max(request.acknowledged, batch + 1)
    requests[launch.request] = request
    launches[launch]?.acknowledged += 1
  }

  /// Checks the store's answer to a checkpoint: only the live launch commits, and commits come in order.
  func checkpointed(_ checkpoint: Checkpoint, _ answer: CheckpointAnswer) throws {
    let launch = checkpoint.launch
    if case .refused(let text) = answer { throw violation(.crash, "\(launch) was refused a checkpoint: \(text)") }
    guard case .committed(let batch, let end) = answer, var request = requests[launch.request] else { return }
    try expect(
      request.open == launch, .supersededCommit,
      "\(launch) committed batch \(batch), and the live launch is \(request.open.map { "\($0)" } ?? "none")")
    try expect(batch <= request.committed, .batches, "batch \(batch) of \(launch) came before \(request.committed)")
    guard batch == request.committed else { return }
    let begun = launches[launch].map { $0.firstBatch + $0.begun } ?? 0
    try expect(batch < begun, .batches, "\(launch) committed batch \(batch), which its handler did not begin")
    request.committed = batch + 1
    if request.shard != nil {
      request.shard?.end = end
      try commit(batch, of: launch, request)
      request.reachedEnd = request.shard?.length.map { checkpoint.completedUnits >= $0 } ?? false
    } else {
      request.reachedEnd = checkpoint.reachesEnd
    }
    launches[launch]?.steppedAt = now
    requests[launch.request] = request
  }
}

extension Checkpoint {
  /// The cursor that a handler saves after `batches` batches of a request. No other request or batch has the same
  /// cursor.
  static func cursor(of request: RequestID, after batches: Int) -> [UInt8] {
    [request.rawValue, Int64(batches)].flatMap { value in
      (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
  }
}
