package import BatonModel

/// A launch that has to stop because of another shard of its request.
package struct ShardStop: Hashable, Sendable {
  package var launch: LaunchKey
  package var reason: ExpiryReason
}

/// What the end of a launch of a shard means for its request.
struct ShardEnd {
  /// The state of the request now.
  var state: RequestState
  /// The state of the shard.
  var shard: RequestState
  /// Whether shards are ready now that were not.
  var madeReady = false
  var stops: [ShardStop] = []
  /// The waiting request of the identifier, if the end of this request released it.
  var released: (requirementClass: RequirementClass, due: NextDue)?
  /// The request that the end of this request has submitted, if it has.
  var followed: [Followed] = []
  /// What the end of this request means for those that wait for it.
  var flow = FlowNews()
}

extension Verbs {
  /// Writes what becomes of a shard after the end of its launch, and of its request.
  func settleShard(
    _ request: LaunchedRequest, _ fate: Fate, ledger: Ledger, _ definition: FrozenDefinition, at now: Moment
  ) throws -> ShardEnd {
    var row = try knownSpread(of: request.whole)
    if fate.state.isEnded { try need(.shards(request.whole)) }
    // An operator has lowered the number of lanes: this shard waits until one is free, unless it backs off; see
    // `takeLanes`.
    let parks = fate.state == .ready && row.lanesInUse > row.lanes
    if parks { row.parked += 1 }
    row.running -= 1
    try prepare(.setLedger).run(
      ledger.failures, ledger.barrenFailures, ledger.losses, ledger.strikes, request.id.rawValue)
    try prepare(.settleShard).run(
      fate.stateOfShard(parks: parks, isHead: request.head == nil).code,
      fate.causeOfShard(parks: parks, isHead: request.head == nil)?.rawValue,
      parks || fate.state.isEnded ? .distantFuture : fate.readiness?.eligibleAt ?? request.eligibleAt,
      request.head == nil ? nil : fate.endedAt, fate.outcome, fate.reason,
      request.head == nil && fate.state.isEnded ? fate.state.code : nil, now.date,
      request.head == nil ? nil : fate.endedAt.map { _ in now.steady }, request.id.rawValue)
    try queueSpans(.launch, of: request.id.rawValue, launch: request.launches, isSampled: request.isSampled)
    let state = fate.stateOfShard(parks: parks, isHead: request.head == nil)
    try count(pattern: definition.pattern, from: .running, to: row.running == 0 ? .scheduled : nil)
    guard fate.state.isEnded else {
      try write(row)
      return ShardEnd(state: state, shard: state)
    }
    row.open -= 1
    row.note(fate.state, of: request.shard, fate.reason)
    return try goOn(&row, after: fate.state, of: request.shard, definition, at: now)
  }

  /// Gives the lane of a shard that has ended to another one, or ends the request with its last shard.
  func goOn(
    _ row: inout SpreadRow, after state: RequestState, of shard: Int, _ definition: FrozenDefinition, at now: Moment
  ) throws -> ShardEnd {
    var end = ShardEnd(state: .scheduled, shard: state)
    if state == .failed, definition.definition.spread?.onShardFailure == .stop, !row.isStopping {
      end.stops = try stopShards(&row, by: "shard \(shard) failed", at: now)
    }
    end.madeReady = try fill(&row, definition.definition, at: now)
    try write(row)
    if end.madeReady { end.state = .ready }
    guard row.open == 0, row.isStopping || !row.hasUnitsLeft else { return end }
    (end.state, end.released, end.flow) = try complete(row, at: now)
    if let head = try launched(RequestID(row.head)) {
      end.followed = try followUp(of: head, end.state, failure: nil, launches: row.launches, at: now)
      try tellEnd(of: head, end.state, nil, failure: nil, launches: row.launches, at: now)
    }
    return end
  }

  /// Ends all shards that do not run, and asks the others to stop. No shard is made any more.
  /// - Parameter principal: who stops them, for the reason of each.
  func stopShards(_ row: inout SpreadRow, by principal: String, at now: Moment) throws -> [ShardStop] {
    row.isStopping = true
    var stops: [ShardStop] = []
    for shard in try openShards(of: row.head) {
      try prepare(.noteCancellation).run(principal, shard.id)
      if shard.state == .running {
        let reason = ExpiryReason.cancelled(by: principal)
        _ = try noteExpiry(shard.launch, reason, at: now)
        stops.append(ShardStop(launch: shard.launch, reason: reason))
      } else {
        try endPending(shard, as: .cancelled, because: principal, &row, at: now)
      }
    }
    return stops
  }

  /// Ends a shard that does not run.
  func endPending(
    _ shard: OpenShard, as state: RequestState, because reason: String, _ row: inout SpreadRow, at now: Moment
  ) throws {
    let isHead = shard.id == row.head
    try prepare(.settleShard).run(
      isHead ? RequestState.scheduled.code : state.code, isHead ? Cause.backingOff.rawValue : nil,
      Timestamp.distantFuture, isHead ? nil : now.date, state.rawValue, reason, isHead ? state.code : nil, now.date,
      isHead ? nil : now.steady, shard.id)
    if shard.isParked { row.parked -= 1 }
    row.open -= 1
    row.note(state, of: shard.shard, reason)
    if shard.state == .ready { try passTurn(of: RequestID(shard.id), at: now) }
  }

  /// Ends a request whose shards have all ended: it has failed if one of them has.
  func complete(
    _ row: SpreadRow, at now: Moment
  ) throws -> (RequestState, (requirementClass: RequirementClass, due: NextDue)?, FlowNews) {
    let head = RequestID(row.head)
    guard let request = try launched(head) else {
      throw StoreError(.corrupt, "A request whose shards have ended is not there.")
    }
    // What a person cancelled is cancelled, unless everything was done.
    let isUndone = row.failed > 0 || row.cancelled > 0 || row.hasUnitsLeft
    let state: RequestState =
      !isUndone ? .succeeded : row.isCancelled || row.failed == 0 ? .cancelled : .failed
    let reason = state == .failed ? row.failureText : state == .cancelled ? request.ledger.cancelledBy : nil
    try prepare(.completeSpread).run(
      state.code, now.date, now.steady, state.rawValue, reason?.bounded(toBytes: LaunchOutcome.maximumErrorBytes),
      row.head)
    // No launch of the request's own ends now. The number of all launches tells its ends apart.
    try queueSpans(.complete, of: row.head, launch: row.launches, isSampled: request.isSampled)
    try count(pattern: pattern(ofRequest: row.head), from: .scheduled, to: state)
    let released = request.hasWaitingRequest ? try release(request.identifierID, at: now) : nil
    return (state, released, try passOn(state, of: head, isAwaited: request.isAwaited, at: now))
  }
}

extension SpreadRow {
  mutating func note(_ state: RequestState, of shard: Int, _ reason: String?) {
    switch state {
    case .failed: noteFailure(of: shard, reason)
    case .cancelled: cancelled += 1
    case .succeeded: break
    case .scheduled, .ready, .running: preconditionFailure("a shard that is \(state) has not ended")
    }
  }

  /// Which shards failed, and why the first of them did.
  fileprivate var failureText: String {
    let all = failedShards?.split(separator: ",").joined(separator: ", ") ?? ""
    let more = failed > (failedShards?.split(separator: ",").count ?? 0) ? " and others" : ""
    let what =
      failed == 1 ? "shard \(all) of \(shards) failed" : "\(failed) of \(shards) shards failed (\(all)\(more))"
    return failure.map { "\(what): \($0)" } ?? what
  }
}

extension Fate {
  /// The state of the shard's row. The row of the request itself stays unfinished until its last shard has ended.
  fileprivate func stateOfShard(parks: Bool, isHead: Bool) -> RequestState {
    parks || isHead && state.isEnded ? .scheduled : state
  }

  fileprivate func causeOfShard(parks: Bool, isHead: Bool) -> Cause? {
    parks || isHead && state.isEnded ? .backingOff : readiness?.cause
  }
}

extension Query {
  static let setLedger = Query(
    "UPDATE request SET failures = ?, barren_failures = ?, losses = ?, strikes = ? WHERE id = ?")
  static let settleShard = Query(
    """
    UPDATE request SET state = ?1, cause = ?2, eligible_at = ?3, ended_at = ?4, outcome = ?5, reason = ?6,
      shard_state = ?7, held_by = NULL, ready_at = CASE WHEN ?1 = 1 THEN ?8 END, ended_steady = ?9
    WHERE id = ?10
    """)
  static let completeSpread = Query(
    """
    UPDATE request SET state = ?, cause = NULL, ended_at = ?, ended_steady = ?, outcome = ?, reason = ?
    WHERE id = ?
    """)
}
