package import BatonModel

/// The answer to an ending, with what became of the request.
package struct EndingAnswer: Hashable, Sendable {
  package var launch: LaunchKey
  /// False if the launch had ended before or was superseded. The request's state is then the one that the store has
  /// now.
  package var wasLive: Bool
  package var request: RequestID
  package var identifier: JobIdentifier
  package var state: RequestState
  package var requirementClass: RequirementClass
  /// The class of the waiting request of the same identifier, if this ending made it ready or scheduled it for a time;
  /// otherwise `nil`.
  package var released: RequirementClass?
  /// The requests that this ending has submitted.
  package var followed: [Followed] = []
  /// What this ending means for the requests that wait for the request.
  package var flow = FlowNews()
  /// When to promote what this ending scheduled.
  package var nextDue = NextDue()
  /// The outcome of the launch as the store recorded it; `nil` if the launch was not live.
  package var launched: Launched?
  /// The names of the launch for logs; `nil` if the launch was not live.
  package var subject: LaunchSubject?
  /// What became of the launch's shard: the same as `state` for a request that was not divided.
  package var shardState: RequestState
  /// Whether the end of this launch made other shards of the request ready.
  package var madeShards = false
  /// Launches of other shards that have to stop because this one failed.
  package var stops: [ShardStop] = []
  /// Whether requests wait for a key that has room now: the next promotion makes them ready.
  package var makesRoom = false
  /// The answer to the checkpoint that came with the ending; `nil` if none did.
  package var checkpoint: CheckpointAnswer?

  package struct Launched: Hashable, Sendable {
    package var outcome: LaunchOutcome
    /// The time from the start of the launch, on the steady clock.
    package var duration: Duration
    package var isGraceful: Bool
  }
}

extension Verbs {
  package func end(
    _ endings: [Ending], after checkpoints: [Checkpoint] = [], from process: WorkerProcess, at now: Moment
  ) throws -> [EndingAnswer] {
    let host = try holder(process)
    let saved = try each(checkpoints) { ($0.launch, try checkpoint($0, on: host)) }
    return try each(endings) { ending in
      var ending = ending
      let checkpoint = saved.first { $0.0 == ending.launch }?.1
      if case .refused(let text)? = checkpoint, ending.outcome == .finished { ending.outcome = .failed(text) }
      var answer = try end(ending, on: host, at: now)
      answer.checkpoint = checkpoint
      return answer
    }
  }

  /// Ends one launch. The answer says `wasLive: false`, and nothing is changed, unless the launch is live and runs on
  /// `host`.
  /// - Parameter host: the host of the process that reports the end; `nil` if that process holds no lease.
  func end(_ ending: Ending, on host: Int64?, countsAsLoss: Bool = true, at now: Moment) throws -> EndingAnswer {
    guard var request = try launched(ending.launch.request) else { return .unknown(ending.launch) }
    guard request.state == .running, request.launches == ending.launch.number, request.host == host else {
      return EndingAnswer(ending.launch, request, wasLive: false)
    }
    let definition = try knownDefinition(request.requirementClass.definition)
    try needLimits(ofLoaded: .running, definition.definition)
    let ending = ending.judgedByResult
    let verdict = request.end(
      ending, retry: definition.definition.retry, losses: limits.losses, countsAsLoss: countsAsLoss,
      maySkip: try maySkipBatch(of: request, after: ending, definition.definition))
    try closeLaunch(ending, of: request, at: now)
    if ending.outcome == .lost, countsAsLoss { try tellLoss(of: request, definition.definition, at: now) }
    try charge(request, pattern: definition.pattern, at: now)
    try noteEnd(of: request, definition.definition, at: now)
    let called = try noteKeys(of: request.identifier, end: definition.definition, at: now)
    if definition.definition.kind == .refresh { try noteResult(ending, of: request) }
    if case .skipsBatch = verdict {
      try skipBatch(of: request, under: definition, length: request.shardLength, at: now)
    }
    var answer = try settle(&request, ending, verdict, pattern: definition.pattern, at: now)
    answer.nextDue.join(called)
    answer.makesRoom = called != NextDue()
    return answer
  }

  /// Writes the end of the launch into its row.
  private func closeLaunch(_ ending: Ending, of request: LaunchedRequest, at now: Moment) throws {
    let kept = ending.outcomeKept(reachedEnd: request.reachesEnd)
    // The ending may arrive before the message that the launch was asked to stop, so it records the expiry too.
    let reason = ending.outcome.reason
    try prepare(.closeLaunch).run(
      now.date, kept.code, kept.storedReason ?? (kept == .finished ? ending.result?.rawValue : nil), ending.isGraceful,
      request.committedBatches, reason?.code, reason?.detail,
      reason.map { _ in now.date }, ending.launch.request.rawValue, ending.launch.number, ending.storedErrorType(kept))
    // A lost launch is left out: there was no handler left that could have ignored the expiry.
    if request.isExpiring || reason != nil, !ending.isGraceful, ending.outcome != .lost {
      let host = try prepare(.hostName).first(request.host) { $0.text(0) }
      try note(.ignoredExpiry, detail: host, of: request.id.rawValue, at: now)
    }
  }

  /// Writes what becomes of the request into its row, and releases the identifier's waiting request if the request
  /// ended.
  private func settle(
    _ request: inout LaunchedRequest, _ ending: Ending, _ verdict: Ledger.Verdict, pattern: Int64, at now: Moment
  ) throws -> EndingAnswer {
    var fate = Fate(verdict, of: ending.outcome, at: now)
    if fate.state == .succeeded { fate.reason = ending.result?.rawValue }
    if request.isSpread { return try settleShard(&request, ending, fate, at: now) }
    if fate.state == .succeeded, request.hasTransfers, let readiness = try goOnWithTransfers(request, at: now) {
      fate = Fate(state: readiness.state, readiness: readiness, outcome: ending.outcome.code, reason: fate.reason)
    }
    try prepare(.settleRequest).run(
      fate.state.code, fate.readiness?.cause?.rawValue, fate.readiness?.eligibleAt ?? request.eligibleAt, fate.endedAt,
      fate.outcome, fate.reason, request.ledger.failures, request.ledger.losses, request.ledger.strikes,
      request.id.rawValue, now.date, fate.endedAt.map { _ in now.steady }, request.ledger.barrenFailures)
    try queueSpans(
      fate.state.isEnded ? [.launch, .complete] : [.launch], of: request.id.rawValue, launch: request.launches,
      isSampled: request.isSampled)
    try count(pattern: pattern, from: .running, to: fate.state)
    request.state = fate.state
    var answer = answer(to: ending, of: request, fate, at: now)
    if fate.state.isEnded, request.hasWaitingRequest, let released = try release(request.identifierID, at: now) {
      answer.released = released.requirementClass
      answer.nextDue.join(released.due)
    }
    answer.take(try passOn(fate.state, of: request.id, isAwaited: request.isAwaited, at: now))
    let failure = ending.failure(request)
    answer.follow(try followUp(of: request, fate.state, failure: failure, launches: request.launches, at: now))
    try tellEnd(of: request, fate.state, ending, failure: failure, launches: request.launches, at: now)
    return answer
  }

  private func answer(
    to ending: Ending, of request: LaunchedRequest, _ fate: Fate, at now: Moment
  ) -> EndingAnswer {
    var answer = EndingAnswer(ending.launch, request, wasLive: true)
    answer.nextDue = fate.readiness?.due ?? NextDue()
    answer.launched = EndingAnswer.Launched(
      outcome: ending.outcomeKept(reachedEnd: request.reachesEnd), duration: now.steady - request.startedSteady,
      isGraceful: ending.isGraceful)
    return answer
  }

  private func settleShard(
    _ request: inout LaunchedRequest, _ ending: Ending, _ fate: Fate, at now: Moment
  ) throws -> EndingAnswer {
    let definition = try knownDefinition(request.requirementClass.definition)
    if fate.state == .failed, ending.isQuarantine {
      try tellQuarantine(ofShard: request, definition.definition, fate.reason, at: now)
    }
    let end = try settleShard(request, fate, ledger: request.ledger, definition, at: now)
    request.state = end.state
    var answer = answer(to: ending, of: request, fate, at: now)
    answer.shardState = end.shard
    (answer.madeShards, answer.stops) = (end.madeReady, end.stops)
    if let released = end.released {
      answer.released = released.requirementClass
      answer.nextDue.join(released.due)
    }
    answer.follow(end.followed)
    answer.take(end.flow)
    return answer
  }

  /// Releases the request that waits for a live request of the identifier, which has just ended. From now on the
  /// waiting request waits only for its own time.
  /// - Returns: the class of the released request and when to promote it; `nil` if no request waits.
  func release(
    _ identifier: Int64, at now: Moment
  ) throws -> (requirementClass: RequirementClass, due: NextDue)? {
    guard let waiting = try prepare(.heldRequest).first(identifier, row: Self.waiting) else { return nil }
    if try skipOverlap(waiting, at: now) { return (waiting.requirementClass, try nextDue()) }
    let readiness = try reconsider(waiting, from: .scheduled, at: now)
    return (waiting.requirementClass, readiness.due)
  }
}

extension Ending {
  /// The kind of the failure; `nil` if the launch did not fail.
  fileprivate func failure(_ request: LaunchedRequest) -> String? {
    storedErrorType(outcomeKept(reachedEnd: request.reachesEnd))
  }
}

extension EndingAnswer {
  fileprivate mutating func follow(_ followed: [Followed]) {
    self.followed = followed
    for one in followed { nextDue.join(one.due) }
  }

  fileprivate mutating func take(_ news: FlowNews) {
    flow = news
    for released in news.released { nextDue.join(released.due) }
  }

  fileprivate init(_ launch: LaunchKey, _ request: LaunchedRequest, wasLive: Bool) {
    self.init(
      launch: launch, wasLive: wasLive, request: request.whole, identifier: request.identifier, state: request.state,
      requirementClass: request.requirementClass, shardState: request.state)
    // The trace of the row is that of the last launch. An ending of an earlier launch changes nothing and is not
    // logged.
    guard wasLive, let trace = request.trace else { return }
    subject = LaunchSubject(
      identifier: request.identifier, request: request.number, launch: launch.number,
      shard: request.isSpread ? request.shard : nil, trace: trace)
  }

  /// The answer for a launch of a request that is not kept any more or never existed.
  fileprivate static func unknown(_ launch: LaunchKey) -> EndingAnswer {
    EndingAnswer(
      launch: launch, wasLive: false, request: launch.request, identifier: JobIdentifier(trusted: "unknown"),
      state: .cancelled, requirementClass: RequirementClass(definition: DefinitionID(0), priority: .background),
      shardState: .cancelled)
  }
}

extension Query {
  static let closeLaunch = Query(
    """
    UPDATE launch SET ended_at = ?1, outcome = ?2, reason = ?3, is_graceful = ?4, batches = ?5,
      expiring_detail = CASE WHEN expiring_reason IS NULL THEN ?7 ELSE expiring_detail END,
      expiring_reason = coalesce(expiring_reason, ?6), expiring_since = coalesce(expiring_since, ?8),
      error_type = ?11
    WHERE request = ?9 AND number = ?10
    """)
  static let settleRequest = Query(
    """
    UPDATE request SET state = ?1, cause = ?2, eligible_at = ?3, ended_at = ?4, ended_steady = ?12, outcome = ?5,
      reason = ?6, failures = ?7, barren_failures = ?13, losses = ?8, strikes = ?9, held_by = NULL,
      ready_at = CASE WHEN ?1 = 1 THEN ?11 END
    WHERE id = ?10
    """)
  static let hostName = Query("SELECT name FROM host WHERE id = ?")
}
