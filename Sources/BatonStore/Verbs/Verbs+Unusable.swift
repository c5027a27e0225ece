package import BatonModel

/// A stored definition that breaks a rule of this version, and how many of its requests were failed for this reason.
package struct UnusableDefinition: Hashable, Sendable {
  package var pattern: IdentifierPattern
  package var problem: DefinitionProblem
  /// The number of unfinished requests that were failed, or cancelled because one that they wait for was failed.
  package var failedRequests: Int
}

/// Stored definitions that this version does not accept. An older version stored them without checking.
extension Verbs {
  /// Fails unfinished requests whose definition breaks a rule, at most `limit`, without a retry. If it fails fewer than
  /// `limit` requests, none is left. The stored definitions are not changed.
  package func failUnusable(limit: Int, at now: Moment) throws -> [UnusableDefinition] {
    try demandStewardship()
    try need(.everything)
    try need(.allDefinitions)
    // The shares may lack what this transaction has counted, so it is written first.
    try flush()
    var left = limit
    var found: [UnusableDefinition] = []
    for id in try prepare(.unfinishedDefinitions).all(row: { DefinitionID($0.int64(0)) }) where left > 0 {
      let frozen = try knownDefinition(id)
      guard let problem = frozen.problem else { continue }
      let failed = try failRequests(of: frozen, problem, limit: left, at: now)
      guard failed > 0 else { continue }
      left -= failed
      found.append(
        UnusableDefinition(pattern: frozen.definition.pattern, problem: problem, failedRequests: failed))
    }
    return found
  }

  private func failRequests(
    of frozen: FrozenDefinition, _ problem: DefinitionProblem, limit: Int, at now: Moment
  ) throws -> Int {
    let reason = "the definition cannot be run: \(problem); apply a repaired one, and submit again"
    var failed = 0
    try need(.unfinishedOf(frozen.id, limit))
    // A request that waits for a live one is failed before the live one, because the end of the live one would release
    // it.
    for query in [Query.scheduledOf, .readyOf, .runningOf] where failed < limit {
      let found = try prepare(query).all(frozen.id.rawValue, limit - failed, row: Self.unfinished)
      for row in found where holds(.identifierOf(RequestID(row.id))) {
        failed += 1
        // The end of one request may have cancelled another one of these, by their flow.
        guard let request = try unfinished(row.id) else { continue }
        try fail(request, of: frozen.pattern, because: reason, at: now)
      }
    }
    return failed
  }

  private func fail(_ request: Unfinished, of pattern: Int64, because reason: String, at now: Moment) throws {
    guard request.state != .running else {
      let launch = LaunchKey(request: RequestID(request.id), number: request.launches)
      // The stand-in of the definition has no retries, so the request fails at once.
      let ending = Ending(launch: launch, outcome: .failed(reason), errorType: "invalidDefinition")
      _ = try end(ending, on: try launched(launch.request)?.host, countsAsLoss: false, at: now)
      return
    }
    if request.isSpread || request.isShard { return try failPendingShard(request, because: reason, at: now) }
    let obstacles = request.readyAt.map { _ in WaitObstacles(isIncomplete: true) }
    try prepare(.failRequest).run(now.date, now.steady, reason, obstacles?.text, request.id)
    try queueSpans(
      request.readyAt == nil ? [.complete] : [.complete, .vainWait], of: request.id, launch: request.launches,
      isSampled: request.isSampled)
    try count(pattern: pattern, from: request.state, to: .failed)
    if let failed = try launched(RequestID(request.id)) {
      try tellEnd(of: failed, .failed, nil, failure: "invalidDefinition", launches: request.launches, at: now)
    }
    if request.launches > 0 {
      _ = try release(request.identifierID, at: now)
    } else {
      try endBackfill(of: request.identifierID)
    }
    _ = try passOn(.failed, of: RequestID(request.id), isAwaited: request.isAwaited, at: now)
  }
}

extension Verbs {
  /// Fails a shard that does not run, and ends its request if it was the last one. No other shard is made.
  private func failPendingShard(_ request: Unfinished, because reason: String, at now: Moment) throws {
    guard let shard = try launched(RequestID(request.id)) else { return }
    var row = try knownSpread(of: shard.whole)
    row.isStopping = true
    guard let open = try openShards(of: row.head).first(where: { $0.id == request.id }) else { return }
    try endPending(open, as: .failed, because: reason, &row, at: now)
    try write(row)
    guard row.open == 0 else { return }
    let end = try complete(row, at: now)
    if let head = try launched(RequestID(row.head)) {
      try tellEnd(of: head, end.0, nil, failure: nil, launches: row.launches, at: now)
    }
  }
}

extension Query {
  static let unfinishedDefinitions = Query(
    """
    SELECT d.id FROM pattern p JOIN definition d ON d.pattern = p.id
    WHERE (SELECT sum(s.scheduled + s.ready + s.running) FROM share s WHERE s.pattern = p.id) > 0 ORDER BY d.id
    """)
  static let scheduledOf = Query(
    unfinishedColumns(of: "request r") + " WHERE r.state = 0 AND r.definition = ? AND r.shard_state IS NULL LIMIT ?")
  static let readyOf = Query(
    unfinishedColumns(of: "request r") + " WHERE r.state = 1 AND r.definition = ? LIMIT ?")
  static let runningOf = Query(
    unfinishedColumns(of: "launch l JOIN request r ON r.id = l.request")
      + " WHERE l.ended_at IS NULL AND r.definition = ? LIMIT ?")
  static let failRequest = Query(
    """
    UPDATE request SET state = 4, cause = NULL, ended_at = ?, ended_steady = ?, outcome = 'failed', reason = ?,
      obstacles = ?
    WHERE id = ?
    """)
}
