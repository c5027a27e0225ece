package import BatonModel

/// Which requests to cancel.
package enum RequestSelection: Hashable, Sendable {
  case request(RequestID)
  /// The live request and the waiting request of an identifier.
  case identifier(JobIdentifier)
  /// All requests of a flow, in one transaction.
  case flow(RequestID)
  case all
}

/// What became of a request that was cancelled.
package enum Cancellation: Hashable, Sendable {
  /// The request has ended.
  case ended(RequestID, JobIdentifier, number: Int)
  /// The request runs. It ends when this launch has been stopped.
  case stopping(LaunchKey, JobIdentifier, number: Int, host: HostName)
}

/// The row of an unfinished request, as cancelling reads it.
struct Unfinished {
  var id: Int64
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var definition: DefinitionID
  var state: RequestState
  var launches: Int
  /// The name of the host on which the request runs or ran last; `nil` before its first launch.
  var host: String?
  var requirementClass: RequirementClass
  /// Since when the request is ready, on the wall clock; `nil` if it is not ready.
  var readyAt: Timestamp?
  var isSampled: Bool
  /// Whether the request was divided into shards.
  var isSpread: Bool
  /// Whether this is the row of another request's shard.
  var isShard: Bool
  /// Whether other requests wait for the end of this one.
  var isAwaited: Bool
}

/// Who cancels, and the obstacles of the waits that end through it.
struct CancelOrder {
  var principal: String
  var histories: [RequirementClass: WaitHistory] = [:]

  /// The obstacles of a wait that ends now; marked as incomplete if no history of the class is known.
  func obstacles(to requirementClass: RequirementClass, from start: Timestamp, to end: Timestamp) -> WaitObstacles {
    histories[requirementClass]?.wait(from: start, to: end) ?? WaitObstacles(isIncomplete: true)
  }
}

/// How far the cancelling of all requests has come.
struct CancelPosition: Hashable {
  /// The first request id that is not cancelled: requests from here on were submitted after the order to cancel.
  var end: Int64
  /// The last running request that was stopped.
  var running: Int64
}

extension Verbs {
  /// In this form `.all` is one long transaction. `SQLiteStore` cancels all requests in steps.
  /// - Parameter histories: the obstacles of each class, for the spans of the waits that end here.
  package func cancel(
    _ selection: RequestSelection, by principal: String, histories: [RequirementClass: WaitHistory] = [:],
    at now: Moment
  ) throws -> [Cancellation] {
    let order = CancelOrder(principal: principal, histories: histories)
    switch selection {
    case .request(let id):
      try need(.identifierOf(id))
      return try cancel(prepare(.unfinishedRequest).all(id.rawValue, row: Self.unfinished), order, now)
    case .identifier(let name):
      try need(.identifier(name))
      // The waiting request is cancelled first, because the end of the live one would release it.
      let unfinished = try prepare(.unfinishedOfIdentifier).all(name.rawValue, row: Self.unfinished)
      // None of them may be passed over.
      try need(unfinished.map { .identifierOf(RequestID($0.id)) })
      return try cancel(unfinished, order, now)
    case .flow(let flow): return try cancelFlow(flow, order, at: now)
    case .all: return try cancelAll(order, at: now)
    }
  }

  private func cancelAll(_ order: CancelOrder, at now: Moment) throws -> [Cancellation] {
    var all: [Cancellation] = []
    // No request is added while this transaction runs.
    var position: CancelPosition? = CancelPosition(end: .max, running: 0)
    while let current = position {
      let step = try cancelStep(current, order, limit: 1000, at: now)
      all += step.cancelled
      position = step.next
    }
    return all
  }

  /// The position at which cancelling all requests begins. Only requests that exist now will be cancelled.
  func cancelPosition() throws -> CancelPosition {
    CancelPosition(end: try prepare(.afterNewestRequest).first { $0.int64(0) } ?? 1, running: 0)
  }

  /// One step of cancelling all requests, with at most `limit` requests: first those that are scheduled or ready, then
  /// those that run. `next` is `nil` when nothing is left.
  func cancelStep(
    _ position: CancelPosition, _ order: CancelOrder, limit: Int, at now: Moment
  ) throws -> (cancelled: [Cancellation], next: CancelPosition?) {
    try need(.unfinished(position, limit))
    for query in [Query.scheduledBelow, .readyBelow] {
      let pending = try prepare(query).all(position.end, limit, row: Self.unfinished)
      // Requests that wait for their first launch are cancelled before live ones: the end of a live request would
      // release the one that waits for it.
      let ordered = pending.sorted { ($0.launches > 0 ? 1 : 0, $0.id) < ($1.launches > 0 ? 1 : 0, $1.id) }
      if !ordered.isEmpty { return (try cancel(ordered, order, now), position) }
    }
    let running = try prepare(.runningBelow).all(position.running, position.end, limit, row: Self.unfinished)
    let stopped = try cancel(running, order, now)
    guard running.count == limit, let last = running.last else { return (stopped, nil) }
    return (stopped, CancelPosition(end: position.end, running: last.id))
  }

  func cancel(_ requests: [Unfinished], _ order: CancelOrder, _ now: Moment) throws -> [Cancellation] {
    try needLimits(
      requests.filter { $0.state == .ready }.flatMap {
        try knownDefinition($0.definition).definition.limitKeys(of: $0.identifier)
      })
    return try each(requests.filter { holds(.identifierOf(RequestID($0.id))) }) { found in
      // The end of one request may have cancelled or released another one of these, by their flow.
      guard let request = try unfinished(found.id) else { return [Cancellation]() }
      if request.isSpread { return try cancelShards(of: request, by: order.principal, at: now) }
      if request.state == .running { return [try stop(request, by: order.principal, at: now)] }
      return try cancelPending(request, order, at: now)
    }.flatMap(\.self)
  }

  private func cancelPending(_ request: Unfinished, _ order: CancelOrder, at now: Moment) throws -> [Cancellation] {
    let obstacles = request.readyAt.map { order.obstacles(to: request.requirementClass, from: $0, to: now.date) }
    try prepare(.cancelRequest).run(
      order.principal, now.date, now.steady, order.principal, obstacles?.text, request.id)
    try queueSpans(
      request.readyAt == nil ? [.complete] : [.complete, .vainWait], of: request.id, launch: request.launches,
      isSampled: request.isSampled)
    try count(pattern: try knownDefinition(request.definition).pattern, from: request.state, to: .cancelled)
    if request.state == .ready {
      try passTurn(of: request.identifier, try knownDefinition(request.definition).definition, at: now)
    }
    if request.launches > 0 {
      _ = try release(request.identifierID, at: now)
    } else if !request.isShard {
      try endBackfill(of: request.identifierID)
    }
    let flow = try passOn(.cancelled, of: RequestID(request.id), isAwaited: request.isAwaited, at: now)
    return [.ended(RequestID(request.id), request.identifier, number: request.number)] + flow.cancelled
  }

  private func stop(_ request: Unfinished, by principal: String, at now: Moment) throws -> Cancellation {
    let launch = LaunchKey(request: RequestID(request.id), number: request.launches)
    try prepare(.noteCancellation).run(principal, request.id)
    _ = try noteExpiry(launch, .cancelled(by: principal), at: now)
    return .stopping(launch, request.identifier, number: request.number, host: HostName(request.host ?? ""))
  }

  /// The row of the request as it is now; `nil` if it has ended.
  func unfinished(_ request: Int64) throws -> Unfinished? {
    try prepare(.unfinishedRow).first(request, row: Self.unfinished)
  }

  static func unfinished(_ row: Columns) -> Unfinished {
    Unfinished(
      id: row.int64(0), identifierID: row.int64(1), identifier: JobIdentifier(trusted: row.text(2)),
      number: row.int(3), definition: DefinitionID(row.int64(4)), state: RequestState(code: row.int(5)),
      launches: row.int(6), host: row.optionalText(7),
      requirementClass: RequirementClass(
        definition: DefinitionID(row.int64(4)), priority: Priority(code: row.int(8))),
      readyAt: row.optionalTime(9), isSampled: row.bool(10), isSpread: !row.isNull(11), isShard: !row.isNull(12),
      isAwaited: row.bool(13))
  }
}

extension Query {
  static func unfinishedColumns(of requests: String) -> String {
    """
    SELECT r.id, r.identifier, i.name, r.number, r.definition, r.state, r.launches, h.name, r.priority, r.ready_at,
      r.is_sampled, r.first_unit, r.head, r.is_awaited
    FROM \(requests) JOIN identifier i ON i.id = r.identifier LEFT JOIN host h ON h.id = r.host
    """
  }
  static let unfinishedRequest = Query(
    unfinishedColumns(of: "request r") + " WHERE r.id = ? AND r.state <= 2 AND r.head IS NULL")
  static let unfinishedRow = Query(unfinishedColumns(of: "request r") + " WHERE r.id = ? AND r.state <= 2")
  static let unfinishedOfIdentifier = Query(
    """
    \(unfinishedColumns(of: "request r")) WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?1)
      AND r.launches = 0 AND r.state <= 1 AND r.head IS NULL
    UNION ALL
    \(unfinishedColumns(of: "request r")) WHERE r.identifier = (SELECT id FROM identifier WHERE name = ?1)
      AND r.launches > 0 AND r.state <= 2 AND r.head IS NULL
    """)
  static let afterNewestRequest = Query("SELECT coalesce(max(id), 0) + 1 FROM request")
  static let scheduledBelow = Query(
    unfinishedColumns(of: "request r")
      + " WHERE r.state = 0 AND r.id < ? AND \(isNotCancelling) ORDER BY r.id LIMIT ?")
  static let readyBelow = Query(
    unfinishedColumns(of: "request r") + " WHERE r.state = 1 AND r.id + 0 < ? AND \(isNotCancelling) LIMIT ?")
  /// A request with shards is cancelled as a whole. It stays unfinished until the last shard has been stopped.
  /// `+ 0` keeps the database from reading the index of the numbers of all requests.
  private static let isNotCancelling = "r.head + 0 IS NULL AND (r.first_unit IS NULL OR r.cancelled_by IS NULL)"
  static let runningBelow = Query(
    unfinishedColumns(of: "launch l JOIN request r ON r.id = l.request")
      + " WHERE l.ended_at IS NULL AND l.request > ? AND l.request < ? AND r.head + 0 IS NULL ORDER BY l.request LIMIT ?"
  )
  static let cancelRequest = Query(
    """
    UPDATE request SET state = 5, cause = NULL, cancelled_by = ?, ended_at = ?, ended_steady = ?,
      outcome = 'cancelled', reason = ?, obstacles = ?
    WHERE id = ?
    """)
  static let noteCancellation = Query("UPDATE request SET cancelled_by = coalesce(cancelled_by, ?) WHERE id = ?")
}
