package import BatonModel

/// An unfinished request as `cancel` finds it.
private struct Unfinished {
  var id: Int64
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var definition: DefinitionID
  var state: RequestState
  var launches: Int
  /// Where it runs.
  var host: String?
}

extension Verbs {
  /// `.all` is bounded by `cancelAll`; here it would be one long transaction.
  package func cancel(
    _ selection: RequestSelection, by principal: String, at now: Timestamp
  ) throws -> [Cancellation] {
    switch selection {
    case .request(let id): try cancel(prepare(.unfinishedRequest).all(id.rawValue, row: Self.unfinished), principal, now)
    case .identifier(let name):
      // The waiting one first, or the end of the live one would release it.
      try cancel(prepare(.unfinishedOfIdentifier).all(name.rawValue, row: Self.unfinished), principal, now)
    case .all: try cancelAll(by: principal, after: RequestID(0), limit: .max, at: now).cancelled
    }
  }

  /// One step of cancelling everything: the unfinished requests that follow `after`, at most `limit`; `next` is nil
  /// when there are no more.
  func cancelAll(
    by principal: String, after: RequestID, limit: Int, at now: Timestamp
  ) throws -> (cancelled: [Cancellation], next: RequestID?) {
    var found: [Unfinished] = []
    for state in [RequestState.scheduled, .ready, .running] {
      found += try prepare(.unfinishedInState).all(state.code, after.rawValue, limit, row: Self.unfinished)
    }
    let step = found.sorted { $0.id < $1.id }.prefix(limit)
    // Those that wait go before those they wait for.
    let order = step.sorted { ($0.launches > 0 ? 1 : 0, $0.id) < ($1.launches > 0 ? 1 : 0, $1.id) }
    let cancelled = try cancel(order, principal, now)
    return (cancelled, step.count < limit ? nil : step.last.map { RequestID($0.id) })
  }

  private func cancel(_ requests: [Unfinished], _ principal: String, _ now: Timestamp) throws -> [Cancellation] {
    try requests.map { request in
      if request.state == .running { return try stop(request, by: principal, at: now) }
      return try cancelPending(request, by: principal, at: now)
    }
  }

  private func cancelPending(_ request: Unfinished, by principal: String, at now: Timestamp) throws -> Cancellation {
    try prepare(.cancelRequest).run(principal, now, principal, request.id)
    try count(pattern: try knownDefinition(request.definition).pattern, from: request.state, to: .cancelled)
    if request.launches > 0 { _ = try release(request.identifierID, at: now) }
    return .ended(RequestID(request.id), request.identifier, number: request.number)
  }

  private func stop(_ request: Unfinished, by principal: String, at now: Timestamp) throws -> Cancellation {
    let launch = LaunchKey(request: RequestID(request.id), number: request.launches)
    try prepare(.noteCancellation).run(principal, request.id)
    _ = try noteExpiry(launch, .cancelled(by: principal), at: now)
    return .stopping(launch, request.identifier, number: request.number, host: HostName(request.host ?? ""))
  }

  private static func unfinished(_ row: Columns) -> Unfinished {
    Unfinished(
      id: row.int64(0), identifierID: row.int64(1), identifier: JobIdentifier(trusted: row.text(2)),
      number: row.int(3), definition: DefinitionID(row.int64(4)), state: RequestState(code: row.int(5)),
      launches: row.int(6), host: row.optionalText(7))
  }
}

extension Query {
  private static let unfinishedColumns = """
    SELECT r.id, r.identifier, i.name, r.number, r.definition, r.state, r.launches, h.name
    FROM request r JOIN identifier i ON i.id = r.identifier LEFT JOIN host h ON h.id = r.host
    """
  static let unfinishedRequest = Query(unfinishedColumns + " WHERE r.id = ? AND r.state <= 2")
  static let unfinishedOfIdentifier = Query(
    """
    \(unfinishedColumns) WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?1)
      AND r.launches = 0 AND r.state <= 1
    UNION ALL
    \(unfinishedColumns) WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?1)
      AND r.launches > 0 AND r.state <= 2
    """)
  static let unfinishedInState = Query(unfinishedColumns + " WHERE r.state = ? AND r.id > ? ORDER BY r.id LIMIT ?")
  static let cancelRequest = Query(
    """
    UPDATE request SET state = 5, cause = NULL, cancelled_by = ?, ended_at = ?, outcome = 'cancelled', reason = ?
    WHERE id = ?
    """)
  static let noteCancellation = Query("UPDATE request SET cancelled_by = coalesce(cancelled_by, ?) WHERE id = ?")
}
