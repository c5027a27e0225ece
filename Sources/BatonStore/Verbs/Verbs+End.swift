package import BatonModel

/// A launched request as the end of its last launch finds it.
struct LaunchedRequest {
  var id: RequestID
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var requirementClass: RequirementClass
  var state: RequestState
  var eligibleAt: Timestamp
  var launches: Int
  var ledger: Ledger
  var batches: Int
  var reachesEnd: Bool
  /// Of the last launch.
  var firstBatch: Int
  var hasWaitingRequest: Bool
}

extension Verbs {
  package func end(_ endings: [Ending], at now: Timestamp) throws -> [EndingAnswer] {
    try endings.map { try end($0, at: now) }
  }

  func end(_ ending: Ending, countsAsLoss: Bool = true, at now: Timestamp) throws -> EndingAnswer {
    guard var request = try launched(ending.launch.request) else { return .unknown(ending.launch) }
    guard request.state == .running, request.launches == ending.launch.number else {
      return EndingAnswer(ending.launch, request, wasLive: false)
    }
    let definition = try knownDefinition(request.requirementClass.definition)
    let committed = request.batches - request.firstBatch
    let verdict = request.ledger.end(
      ending.outcome, committedBatches: committed, reachedEnd: request.reachesEnd,
      retry: definition.definition.retry, countsAsLoss: countsAsLoss)
    try closeLaunch(ending, committed: committed, reachedEnd: request.reachesEnd, at: now)
    return try settle(&request, ending, verdict, pattern: definition.pattern, at: now)
  }

  func launched(_ id: RequestID) throws -> LaunchedRequest? {
    try prepare(.launchedRequest).first(id.rawValue) { row in
      LaunchedRequest(
        id: id, identifierID: row.int64(0), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
        requirementClass: RequirementClass(
          definition: DefinitionID(row.int64(3)), priority: Priority(code: row.int(4))),
        state: RequestState(code: row.int(5)), eligibleAt: row.time(6), launches: row.int(7),
        ledger: Ledger(
          failures: row.int(8), losses: row.int(9), strikes: row.int(10), cancelledBy: row.optionalText(11)),
        batches: row.int(12), reachesEnd: row.bool(13), firstBatch: row.int(14), hasWaitingRequest: row.bool(15))
    }
  }

  /// A launch that did all its work finished, whatever a stop signal made of its exit status; one that was lost stays
  /// lost.
  private func closeLaunch(_ ending: Ending, committed: Int, reachedEnd: Bool, at now: Timestamp) throws {
    let outcome = reachedEnd && ending.outcome != .lost ? .finished : ending.outcome
    try prepare(.closeLaunch).run(
      now, outcome.code, outcome.storedReason, ending.isGraceful, committed, ending.launch.request.rawValue,
      ending.launch.number)
  }

  private func settle(
    _ request: inout LaunchedRequest, _ ending: Ending, _ verdict: Ledger.Verdict, pattern: Int64, at now: Timestamp
  ) throws -> EndingAnswer {
    let fate = Fate(verdict, of: ending.outcome, at: now)
    try prepare(.settleRequest).run(
      fate.state.code, fate.cause?.rawValue, fate.eligibleAt ?? request.eligibleAt, fate.endedAt, fate.outcome,
      fate.reason, request.ledger.failures, request.ledger.losses, request.ledger.strikes, request.id.rawValue)
    try count(pattern: pattern, from: .running, to: fate.state)
    (request.state, request.eligibleAt) = (fate.state, fate.eligibleAt ?? request.eligibleAt)
    var answer = EndingAnswer(ending.launch, request, wasLive: true)
    if fate.state.isEnded, request.hasWaitingRequest, let released = try release(request.identifierID, at: now) {
      (answer.released, answer.releasedEligibleAt) = (released.requirementClass, released.eligibleAt)
    }
    return answer
  }

  /// Lets the waiting request of an identifier whose live one just ended wait for its time only.
  func release(
    _ identifier: Int64, at now: Timestamp
  ) throws -> (requirementClass: RequirementClass, eligibleAt: Timestamp)? {
    let waiting = try prepare(.heldRequest).first(identifier) { row in
      (
        id: row.int64(0), definition: DefinitionID(row.int64(1)), priority: Priority(code: row.int(2)),
        earliest: row.time(3), lastFirstLaunch: row.optionalTime(4)
      )
    }
    guard let waiting else { return nil }
    let definition = try knownDefinition(waiting.definition)
    let readiness = Readiness.firstLaunch(
      earliest: waiting.earliest, lastFirstLaunch: definition.definition.isSpaced ? waiting.lastFirstLaunch : nil,
      hasLiveRequest: false, at: now)
    try prepare(.setReadiness).run(readiness.state.code, readiness.cause?.rawValue, readiness.eligibleAt, waiting.id)
    try count(pattern: definition.pattern, from: .scheduled, to: readiness.state)
    return (RequirementClass(definition: waiting.definition, priority: waiting.priority), readiness.eligibleAt)
  }
}

/// What a verdict writes into the row of the request.
private struct Fate {
  var state: RequestState
  var cause: Cause?
  var eligibleAt: Timestamp?
  var endedAt: Timestamp?
  var outcome: String
  var reason: String?
}

extension Fate {
  fileprivate init(_ verdict: Ledger.Verdict, of outcome: LaunchOutcome, at now: Timestamp) {
    switch verdict {
    case .succeeded: self.init(ended: .succeeded, nil, at: now)
    case .failed(let message):
      self.init(ended: .failed, message.bounded(toBytes: LaunchOutcome.maximumErrorBytes), at: now)
    case .cancelled(let by): self.init(ended: .cancelled, by, at: now)
    case .resumes(let delay):
      let readiness = Readiness.resumption(after: delay, at: now)
      self.init(
        state: readiness.state, cause: readiness.cause, eligibleAt: readiness.eligibleAt, outcome: outcome.code,
        reason: outcome.storedReason)
    }
  }

  fileprivate init(ended state: RequestState, _ reason: String?, at now: Timestamp) {
    self.init(state: state, endedAt: now, outcome: state.rawValue, reason: reason)
  }
}

extension EndingAnswer {
  fileprivate init(_ launch: LaunchKey, _ request: LaunchedRequest, wasLive: Bool) {
    self.init(
      launch: launch, wasLive: wasLive, request: request.id, identifier: request.identifier, state: request.state,
      requirementClass: request.requirementClass, eligibleAt: request.eligibleAt)
  }

  /// For a launch of a request that is no longer kept, or never was: nothing is left to say of it.
  fileprivate static func unknown(_ launch: LaunchKey) -> EndingAnswer {
    EndingAnswer(
      launch: launch, wasLive: false, request: launch.request, identifier: JobIdentifier(trusted: "unknown"),
      state: .cancelled, requirementClass: RequirementClass(definition: DefinitionID(0), priority: .background),
      eligibleAt: .distantFuture)
  }
}

extension Query {
  static let launchedRequest = Query(
    """
    SELECT r.identifier, i.name, r.number, r.definition, r.priority, r.state, r.eligible_at, r.launches,
      r.failures, r.losses, r.strikes, r.cancelled_by, coalesce(p.batches, 0), coalesce(p.reaches_end, 0),
      coalesce(l.first_batch, 0),
      (SELECT w.id FROM request w WHERE w.identifier = r.identifier AND w.launches = 0 AND w.state <= 1) IS NOT NULL
    FROM request r JOIN identifier i ON i.id = r.identifier LEFT JOIN progress p ON p.request = r.id
      LEFT JOIN launch l ON l.request = r.id AND l.number = r.launches
    WHERE r.id = ?
    """)
  static let closeLaunch = Query(
    """
    UPDATE launch SET ended_at = ?, outcome = ?, reason = ?, is_graceful = ?, batches = ?
    WHERE request = ? AND number = ?
    """)
  static let settleRequest = Query(
    """
    UPDATE request SET state = ?, cause = ?, eligible_at = ?, ended_at = ?, outcome = ?, reason = ?, failures = ?,
      losses = ?, strikes = ?
    WHERE id = ?
    """)
  static let heldRequest = Query(
    """
    SELECT r.id, r.definition, r.priority, r.earliest_at, i.last_first_launch_at
    FROM request r JOIN identifier i ON i.id = r.identifier
    WHERE r.identifier = ? AND r.launches = 0 AND r.state <= 1 AND r.cause = 3
    """)
  static let setReadiness = Query("UPDATE request SET state = ?, cause = ?, eligible_at = ? WHERE id = ?")
}
