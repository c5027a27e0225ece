import BatonCore
import BatonModel
import BatonStore

/// The launches that the store starts and ends, and the checks of each start and end.
extension Journal {
  /// Records a launch whose start the store has committed, and checks that the launch may start now on this host.
  func started(_ assignment: Assignment, on host: HostName, _ incarnation: Incarnation, at time: Time) throws {
    let launch = assignment.launch
    var request =
      try requests[launch.request]
      ?? Request(
        identifier: assignment.identifier, definition: definition(of: assignment), head: assignment.head)
    try expect(
      request.open == nil, .twoLaunches, "\(launch) started while \(request.open.map { "\($0)" } ?? "none") is live")
    try expect(
      launch.number == request.launches + 1, .twoLaunches, "\(launch) follows launch \(request.launches) of it")
    let isOver = request.hasEnded || cancelledWaiting.contains(assignment.head)
    try expect(!isOver, .completion, "\(launch) started, and its request has ended")
    try expect(!request.reachedEnd, .completion, "\(launch) started, and nothing was left to do")
    try started(assignment, &request)
    try checkProgress(of: assignment, request)
    try checkTime(of: assignment, request, at: time)
    try checkPayload(of: assignment)
    try expect(
      spanIDs.insert(assignment.trace.spanID).inserted, .span,
      "\(launch) has the span id of another launch")
    request.launches += 1
    request.open = launch
    requests[launch.request] = request
    launches[launch] = Launch(
      host: host, incarnation: incarnation, gpus: assignment.gpus, spanID: assignment.trace.spanID,
      isSimulated: assignment.isSimulated, steppedAt: now, firstBatch: assignment.progress.batches)
    open[host, default: []].insert(launch)
    try checkRoom(for: launch, request.definition)
  }

  private func definition(of assignment: Assignment) throws -> Definition {
    guard let definition = schedule.definition(for: assignment.identifier) else {
      throw violation(.crash, "nobody defined \(assignment.identifier)")
    }
    return definition
  }

  /// Checks that the launch continues exactly where the last commit left the request.
  func checkProgress(of assignment: Assignment, _ request: Request) throws {
    let progress = assignment.progress
    try expect(
      progress.batches == request.committed, .checkpointLost,
      "\(assignment.launch) starts at batch \(progress.batches); \(request.committed) are committed")
    let cursor = Checkpoint.cursor(of: assignment.launch.request, after: progress.batches)
    try expect(
      progress.batches == 0 || progress.cursor == cursor, .checkpointLost,
      "\(assignment.launch) starts with cursor \(progress.cursor ?? []) after \(progress.batches) batches")
  }

  private func checkTime(of assignment: Assignment, _ request: Request, at time: Time) throws {
    let launch = assignment.launch
    if let rest = request.restsUntil, !assignment.isSimulated {
      try expect(time.isAfter(rest, lag: lag), .time, "\(launch) starts before its backoff ends")
    }
    guard launch.number == 1, assignment.head == launch.request else { return }
    if !assignment.isSimulated { try checkCalendar(of: assignment) }
    if !assignment.isSimulated, let (plan, submitted) = acceptedAt[launch.request] {
      try checkWish(plan, submitted, request.definition, launch, at: time)
    }
    if !assignment.isSimulated, let last = lastFirstLaunch[assignment.identifier] {
      let end = last.after(spacing(of: assignment.identifier, request.definition))
      try expect(
        time.isAfter(end, lag: lag) || hadImmediatePoke(assignment.identifier), .time,
        "first launches of \(assignment.identifier) are not spaced")
    }
    lastFirstLaunch[assignment.identifier] = time
  }

  /// Checks that nothing starts by a calendar that is paused, and that requests that follow each other stand for times
  /// that follow each other.
  private func checkCalendar(of assignment: Assignment) throws {
    guard let time = assignment.scheduledAt else { return }
    let name = assignment.identifier
    try expect(!pausedSchedules.contains(name), .time, "\(assignment.launch) starts while its schedule is paused")
    // After a step of the clock a request that gets a new definition stands for a time after that step.
    let stepsClock = schedule.faults.contains { if case .stepClock = $0.kind { true } else { false } }
    guard !everBackfilled.contains(name), !stepsClock else { return }
    if let last = lastScheduled[name], last.number + 1 == assignment.requestNumber {
      try expect(
        last.time < time, .time,
        "\(name) (request \(assignment.requestNumber)) starts for \(time), after a request for \(last.time)")
    }
    lastScheduled[name] = (assignment.requestNumber, time)
  }

  /// The least time between two first launches of an identifier (contract, rows 10 and 42): 15 minutes for a refresh
  /// that is not frequent; for a frequent one that repeats, two and four times its interval after two and three
  /// refreshes in a row that found nothing.
  private func spacing(of identifier: JobIdentifier, _ definition: Definition) -> Duration {
    guard definition.kind == .refresh else { return .zero }
    guard definition.allowFrequent else { return .seconds(15 * 60) }
    let inRow = noDataInRow[identifier, default: 0]
    guard let interval = definition.repeatEvery, inRow >= 2 else { return .zero }
    return interval * (inRow == 2 ? 2 : 4)
  }

  /// Counts the refreshes in a row that found nothing.
  func found(_ result: RefreshResult?, _ answer: EndingAnswer) {
    guard answer.launched?.outcome == .finished else { return }
    noDataInRow[answer.identifier] = result == .noData ? noDataInRow[answer.identifier, default: 0] + 1 : 0
  }

  /// Whether any poke of this identifier is immediate. A poke that joins a waiting request marks that request,
  /// whichever poke made it.
  private func hadImmediatePoke(_ identifier: JobIdentifier) -> Bool {
    schedule.requests.contains { $0.identifier == identifier && $0.poke == .immediate }
  }

  /// Checks that the launch has the payload of the last submission that the request stands for.
  private func checkPayload(of assignment: Assignment) throws {
    guard let plan = acceptedAt[assignment.head]?.plan else { return }
    try expect(
      assignment.payload == plan.payload, .submissionLost,
      "\(assignment.launch) has the payload \(assignment.payload ?? []), and \(plan.id) had \(plan.payload ?? [])")
  }

  private func checkWish(
    _ plan: Schedule.RequestPlan, _ submitted: Time, _ definition: Definition, _ launch: LaunchKey, at time: Time
  ) throws {
    guard definition.kind != .continued, plan.poke == nil else { return }
    switch plan.earliest {
    case .after(let delay):
      try expect(
        time.isAfter(submitted.after(delay), lag: lag), .time,
        "\(launch) starts \((submitted.after(delay).elapsed - time.elapsed).inSeconds) s before its delay is over")
    case .date(let offset):
      try expect(time.date >= Self.epoch + offset, .time, "\(launch) starts before its date")
    case nil: break
    }
  }

  /// The date that the wall clock shows at the beginning of a simulation. It is 30 s before midnight, so that daily
  /// allowances are refilled in the middle of the faults or soon after them.
  static let epoch = Timestamp(nanoseconds: (20_834 * 86_400 - 30) * 1_000_000_000)

  private func checkRoom(for launch: LaunchKey, _ definition: Definition) throws {
    guard let log = launches[launch], let plan = schedule.hosts.first(where: { $0.name == log.host }) else { return }
    let others = open[log.host, default: []].filter { $0 != launch }
    let slots = others.reduce(definition.requirements.slots) { $0 + self.slots(of: $1) }
    try expect(
      slots <= plan.capabilities.slots, .capacity,
      "\(slots) of \(plan.capabilities.slots) slots of \(log.host) are used")
    // A launch whose handler has ended, and whose ending is not stored yet, uses no GPU any more.
    let used = Set(others.flatMap { launches[$0]?.said == nil ? launches[$0]?.gpus ?? [] : [] })
    try expect(
      used.isDisjoint(with: log.gpus), .capacity, "\(launch) shares a GPU of \(log.host) with one of \(others.sorted())"
    )
    if let gpu = definition.requirements.gpu {
      let all = plan.conditions.gpus.value ?? []
      let isRight =
        log.gpus.count == gpu.count && Set(log.gpus).count == gpu.count
        && log.gpus.allSatisfy { all.indices.contains($0) && all[$0].memoryBytes >= gpu.memoryBytes ?? 0 }
      try expect(isRight, .capacity, "\(launch) got GPUs \(log.gpus) of \(log.host)")
    }
    if !log.isSimulated { try checkQuotas(of: definition) }
    guard let limit = definition.maxRunning, !log.isSimulated else { return }
    let running = open.values.reduce(0) { sum, launches in
      sum + launches.count { isCounted($0, as: definition.pattern) }
    }
    try expect(running <= limit, .capacity, "\(running) launches of \(definition.pattern) run, \(limit) may")
  }

  /// Checks that the launches that run are within the quotas of the definition's namespace. Launches that `baton
  /// simulate launch` started do not count.
  private func checkQuotas(of definition: Definition) throws {
    let namespace = schedule.namespaces.namespace(of: definition.pattern)
    var (running, slots, gpus) = (0, 0, 0)
    for launch in open.values.joined() {
      guard let log = launches[launch], log.outcome == nil, !log.isSimulated,
        let other = requests[launch.request]?.definition,
        schedule.namespaces.prefix(of: other.pattern) == namespace.prefix
      else { continue }
      running += 1
      slots += other.requirements.slots
      gpus += other.requirements.gpu?.count ?? 0
    }
    let quotas = namespace.quotas
    for (what, used, limit) in [
      ("launches", running, quotas.running), ("slots", slots, quotas.slots), ("GPUs", gpus, quotas.gpus),
    ] {
      try expect(
        used <= limit ?? .max, .capacity, "the namespace \(namespace.name) holds \(used) \(what), \(limit ?? 0) may")
    }
  }

  private func slots(of launch: LaunchKey) -> Int { requests[launch.request]?.definition.requirements.slots ?? 1 }

  /// Whether the launch counts towards `maxRunning` of this definition. Launches that `baton simulate launch` started
  /// do not count.
  private func isCounted(_ launch: LaunchKey, as pattern: IdentifierPattern) -> Bool {
    guard let log = launches[launch], log.outcome == nil, !log.isSimulated else { return false }
    return requests[launch.request]?.definition.pattern == pattern
  }

  /// Checks that a launch on a healthy worker still has a reason to run. It fails if the store learned of an expiry, an
  /// ending or an operator's word against the launch at `ago` or earlier.
  func checkStillWanted(_ launch: LaunchKey, since ago: Duration) throws {
    guard let log = launches[launch], let request = requests[launch.request] else { return }
    if let asked = log.asked, asked.at <= ago {
      throw violation(.expiry, "\(launch) was asked to stop (\(asked.reason.code)), and its worker does not know")
    }
    if let endedAt = log.endedAt, endedAt <= ago { throw violation(.expiry, "\(launch) has ended, and runs on") }
    for wish in wishes where wish.since <= ago && wish.concerns(log.host, request.identifier) {
      throw violation(.expiry, "\(launch) runs on against an operator's word: \(wish.text)")
    }
  }

  // MARK: Endings

  /// Records that the store knows of an expiry of the launch. The first reason stays.
  func noted(_ reason: ExpiryReason, of launch: LaunchKey) {
    guard let log = launches[launch], log.outcome == nil, log.asked == nil else { return }
    launches[launch]?.asked = (reason, now)
  }

  /// Records how a handler ended. Only the first end of a launch counts.
  func said(_ end: HandlerEnd, of launch: LaunchKey) {
    if launches[launch]?.said == nil { launches[launch]?.said = end }
  }

  /// Checks the store's answer to an ending. The store has closed the launch now, or says that the launch was closed
  /// before.
  /// - Parameters:
  ///   - outcome: how the launch ended according to its worker; a refresh that reported a failure has failed.
  ///   - isBlameless: whether the end of a lease does not count as a loss of its launches.
  func ended(
    _ whole: EndingAnswer, as outcome: LaunchOutcome, isBlameless: Bool = false, at time: Time
  ) throws {
    // What becomes of a shard is what becomes of a request.
    var answer = whole
    answer.state = whole.shardState
    let launch = answer.launch
    guard var request = requests[launch.request], let log = launches[launch] else { return }
    guard answer.wasLive else {
      return try expect(request.open != launch, .outcome, "\(launch) is live, and could not be ended")
    }
    try expect(request.open == launch && log.outcome == nil, .outcome, "\(launch) ended twice")
    launches[launch]?.outcome = answer.launched?.outcome ?? outcome
    launches[launch]?.endedAt = now
    open[log.host]?.remove(launch)
    request.open = nil
    request.hasEnded = answer.state.isEnded
    request.endedAt = time
    if request.reachedEnd {
      try expect(answer.state == .succeeded, .completion, "\(launch) ended, all was done, and it is \(answer.state)")
    }
    if stopping.contains(launch.request) {
      try expect(answer.state.isEnded, .outcome, "\(launch) was cancelled, and its request is \(answer.state)")
    }
    if answer.state == .succeeded {
      let isDone = request.reachedEnd || outcome == .finished
      try expect(isDone, .outcome, "\(launch) ended \(outcome.text), and the request succeeded")
      let total = request.totalBatches ?? schedule.batches[request.identifier, default: 1]
      try expect(
        request.committed == total, .batches,
        "\(launch.request) succeeded after \(request.committed) of \(total) batches")
    }
    try checkFate(of: &request, answer, log, outcome, isBlameless: isBlameless, at: time)
    requests[launch.request] = request
    ended(launch.request, request, as: answer.state)
    for stop in whole.stops {
      stopping.insert(stop.launch.request)
      noted(stop.reason, of: stop.launch)
    }
    try checkDivision(request.head, whole.state)
  }

  /// Checks that a message to a worker confirms only what has been committed, and that an expiry has a cause.
  func checkCommitted(_ message: CoordinatorMessage) throws {
    switch message {
    case .committed(let launch, let batch, _):
      try expect(
        requests[launch.request].map { batch < $0.committed } ?? true, .checkpointLost,
        "batch \(batch) of \(launch) is acknowledged, and was not committed")
    case .endingCommitted(let launch):
      try expect(
        requests[launch.request]?.open != launch, .outcome, "the ending of \(launch) is acknowledged, and it is live")
    case .expire(let launch, let reason): try checkCause(of: reason, launch)
    case .submitted(let launch, _, .accepted(let accepted)):
      try expect(
        links[launch.request]?.contains(accepted.number) == true, .submissionLost,
        "\(launch) is told of request \(accepted.number), which was not committed")
    case .submitted(_, _, .refused): break
    case .welcome, .definition, .unusableDefinition, .launch, .heartbeatAnswered, .withdraw, .refuse, .itemsCommitted,
      .items, .simulate, .receipt, .refused, .transfers:
      break
    }
  }

  /// Records a cancellation that the store has committed.
  func cancelled(_ cancellation: Cancellation, by principal: String = "operator") throws {
    switch cancellation {
    case .ended(let request, _, _):
      try expect(requests[request]?.open == nil, .outcome, "\(request) was cancelled as waiting, and runs")
      requests[request]?.hasEnded = true
      cancelledWaiting.insert(request)
      divisions[request]?.isOver = true
    case .stopping(let launch, _, _, _):
      try expect(requests[launch.request]?.open == launch, .outcome, "\(launch) was cancelled, and does not run")
      stopping.insert(launch.request)
      if let head = requests[launch.request]?.head { divisions[head]?.isStopping = true }
      noted(.cancelled(by: principal), of: launch)
    }
  }

  /// Checks a request that the store has deleted: it had ended, and all its launch spans were sent.
  func pruned(_ record: RequestRecord) throws {
    let id = record.id
    pruned.insert(id)
    let isOver =
      divisions[id]?.isOver ?? requests[id].map { $0.hasEnded && $0.open == nil } ?? cancelledWaiting.contains(id)
    try expect(isOver || record.launches == 0, .submissionLost, "request \(id) was deleted, and has not ended")
    guard record.trace.isSampled else { return }
    for (launch, log) in launches where requests[launch.request]?.head == id {
      let isSent = sentSpans.contains { key, source in
        key.request == launch.request && key.launch == launch.number && key.parts.contains(.launch)
          && source.launch?.record.outcome == log.outcome?.kind
      }
      try expect(isSent, .span, "\(launch) was deleted, and its span was not sent")
    }
  }

  /// Checks that only as many requests were deleted before their time as there were too many.
  /// - Parameters:
  ///   - count: how many requests had ended.
  ///   - limits: by which they were deleted.
  func checkRetention(_ gone: [RequestRecord], of count: Int, _ limits: RetentionLimits, at time: Time) throws {
    let early = gone.filter { record in
      requests[record.id]?.endedAt.map { !time.isAfter($0.after(limits.endedFor), lag: lag) } ?? false
    }
    let surplus = max(0, count - limits.endedCount)
    try expect(
      early.count <= surplus, .retention,
      "\(early.count) requests were deleted before \(limits.endedFor.inSeconds) s, and \(surplus) were too many")
  }

  /// Records that an operator has retried a failed request.
  func retried(_ request: RequestID) {
    everRetried.insert(request)
    divisions[request]?.isOver = false
    divisions[request]?.isStopping = false
    for id in rows(of: request) {
      guard var retried = requests[id], id == request || !retried.reachedEnd else { continue }
      (retried.failures, retried.losses, retried.strikes) = (0, 0, 0)
      (retried.hasEnded, retried.restsUntil) = (retried.shard != nil && retried.reachedEnd, nil)
      stopping.remove(id)
      requests[id] = retried
    }
  }
}

extension Journal.Request {
  /// How many batches its shard has; `nil` if it is not divided.
  fileprivate var totalBatches: Int? {
    let size = Int64(definition.work?.batchSize ?? 1)
    return shard?.length.map { Int(($0 + size - 1) / size) }
  }
}
