import BatonModel
import BatonStore

/// What becomes of a request when one of its launches ends, by the journal's own count of failures, losses and strikes
/// (promise P6; contract, rows 28 and 29). It judges `Ledger`, so it does not call it.
extension Journal {
  /// What becomes of a request.
  private enum Fate {
    case ended(RequestState)
    case resumes(after: Duration)
  }

  /// Three launches in a row that committed no batch and were lost, stalled or out of budget end a request.
  private static let strikesAllowed = 3
  /// The wait after the second loss in a row. Each further loss doubles it.
  private static let backoffOfLosses = Duration.seconds(1)

  /// Checks what the store has made of a request, and sets when it may start again.
  func checkFate(
    of request: inout Request, _ answer: EndingAnswer, _ log: Launch, _ outcome: LaunchOutcome, isBlameless: Bool,
    at time: Time
  ) throws {
    request.restsUntil = nil
    let state: RequestState
    switch fate(of: &request, answer.launch, log, outcome, isBlameless: isBlameless || log.isSimulated) {
    case .ended(let end): state = end
    case .resumes(after: .zero): state = .ready
    case .resumes(let delay):
      state = .scheduled
      request.restsUntil = time.after(delay)
    }
    // A shard that an operator has taken the lane from waits for another one.
    if request.shard != nil, answer.state == .scheduled, state == .ready, divisions[request.head]?.wasLowered == true {
      return
    }
    try expect(
      answer.state == state, .cause,
      "\(answer.launch) ended \(outcome.text) and its request is \(answer.state), where \(state) is right after "
        + "\(request.failures) failures, \(request.losses) losses and \(request.strikes) strikes in a row")
  }

  private func fate(
    of request: inout Request, _ launch: LaunchKey, _ log: Launch, _ outcome: LaunchOutcome, isBlameless: Bool
  ) -> Fate {
    let isBarren = request.committed == log.firstBatch
    if !isBarren { (request.losses, request.strikes) = (0, 0) }
    if request.reachedEnd || outcome == .finished { return .ended(.succeeded) }
    if case .failed = outcome { request.failures += 1 }
    if stopping.contains(launch.request) { return .ended(.cancelled) }
    switch outcome {
    case .finished: return .ended(.succeeded)
    case .failed:
      let retry = request.definition.retry
      if request.failures > retry.limit { return .ended(.failed) }
      return .resumes(after: retry.backoff * (1 << (request.failures - 1)))
    case .lost where isBlameless: return .resumes(after: .zero)
    case .lost:
      request.losses += 1
      if isBarren { request.strikes += 1 }
      if request.strikes == Self.strikesAllowed { return .ended(.failed) }
      return .resumes(after: request.losses == 1 ? .zero : Self.backoffOfLosses * (1 << (request.losses - 2)))
    case .expired(let reason):
      if isBarren, !log.isSimulated, reason == .stalled || reason == .budgetSpent { request.strikes += 1 }
      return request.strikes == Self.strikesAllowed ? .ended(.failed) : .resumes(after: .zero)
    }
  }

  // MARK: What is late

  /// Whether the time of a scheduled request has come by the simulator's own clock: the end of its backoff, or of the
  /// delay that the client asked for. `false` if something else decides its time.
  func isDue(_ record: RequestRecord, at time: Time) -> Bool {
    if let rest = requests[record.id]?.restsUntil { return time.isDue(rest, lag: lag) }
    guard record.launches == 0, let (plan, accepted) = acceptedAt[record.id], plan.poke == nil,
      schedule.definition(for: record.identifier)?.kind == .processing, case .after(let delay)? = plan.earliest
    else { return false }
    return time.isDue(accepted.after(delay), lag: lag)
  }

  // MARK: Why launches expire

  /// Checks the cause of an expiry that the coordinator decides, when it tells the worker for the first time.
  func checkCause(of reason: ExpiryReason, _ launch: LaunchKey) throws {
    guard reason == .stalled, let log = launches[launch], !log.isToldOfStall,
      let definition = requests[launch.request]?.definition
    else { return }
    launches[launch]?.isToldOfStall = true
    try checkIdle(launch, definition, for: now - log.steppedAt)
  }

  /// How long the launch has made no progress.
  func idleTime(of launch: LaunchKey) -> Duration? { launches[launch].map { now - $0.steppedAt } }

  /// Checks a stall that the store has recorded, which a coordinator has decided for a launch of its own host.
  /// - Parameter idle: how long the launch had made no progress when the coordinator decided.
  func checkStall(of launch: LaunchKey, decidedAfter idle: Duration) throws {
    guard let definition = requests[launch.request]?.definition else { return }
    try checkIdle(launch, definition, for: idle)
  }

  private func checkIdle(_ launch: LaunchKey, _ definition: Definition, for idle: Duration) throws {
    // The dispatcher takes the time of its last tick for the time of a step, and leaves out only gaps above a second.
    let tick = max(.seconds(1), now < schedule.calmAt ? schedule.tickInterval : schedule.longestPace)
    let least = (definition.stallAfter ?? .seconds(60)) * 2 - tick
    try expect(
      idle >= least, .cause, "\(launch) made progress \(idle.inSeconds) s ago, and is taken for stalled")
  }

  /// Checks that a launch that makes no progress was asked to stop in time.
  func checkStall(of launch: LaunchKey) throws {
    guard let log = launches[launch], log.asked == nil, let definition = requests[launch.request]?.definition,
      let limit = definition.stallAfter
    else { return }
    // Five times the usual batch, which may be longer than the limit. A handler of this simulation takes 3 s at the
    // most, and a batch during which its host was stopped counts for longer: 6 s were seen for the usual one.
    let patience = max(limit, .seconds(30)) * 2 + schedule.leaseTerm * 2 + .seconds(15)
    try expect(
      now - max(log.steppedAt, schedule.calmAt) < patience, .expiry,
      "\(launch) has made no progress since \(log.steppedAt.inSeconds) s, and was not asked to stop")
  }

  // MARK: Limits

  /// Checks an accepted or refused submission against the limit of pending requests of its definition.
  func checkPendingLimit(_ identifier: JobIdentifier, isRefused: Bool) throws {
    guard let definition = schedule.definition(for: identifier), let limit = definition.pendingLimit else { return }
    let pending = acceptedAt.keys.count { isPending($0, of: definition.pattern) }
    try expect(
      isRefused == (pending >= limit), .overload,
      "\(identifier) was \(isRefused ? "refused" : "accepted") while \(pending) of \(limit) requests were pending")
  }

  private func isPending(_ id: RequestID, of pattern: IdentifierPattern) -> Bool {
    guard let plan = acceptedAt[id]?.plan, pattern.matches(plan.identifier), !cancelledWaiting.contains(id) else {
      return false
    }
    // A request that is divided is pending while no shard of it runs.
    if let division = divisions[id] { return !division.isOver && rows(of: id).allSatisfy { requests[$0]?.open == nil } }
    return requests[id].map { $0.open == nil && !$0.hasEnded } ?? true
  }
}
