package import BatonModel

extension Verbs {
  /// Queues the spans of an occasion. Call it in the transaction in which the spans end, so that every committed span
  /// is sent even if the process is killed afterwards.
  func queueSpans(_ parts: SpanParts, of request: Int64, launch: Int, isSampled: Bool) throws {
    guard queuesSpans, isSampled else { return }
    try prepare(.queueSpans).run(request, launch, parts.rawValue)
  }

  /// The spans that wait to be sent, those of the oldest requests first, at most `limit` occasions.
  package func unsentSpans(limit: Int) throws -> [SpanSource] {
    try sources(prepare(.unsentSpans).all(limit, row: Self.spanKey))
  }

  /// Removes spans that a backend has confirmed.
  package func confirmSpans(_ keys: [SpanKey]) throws {
    try demandStewardship()
    try need(keys.map { .spans($0.request) })
    for key in keys {
      try prepare(.confirmSpans).run(key.request.rawValue, key.launch, key.parts.rawValue)
    }
  }

  /// Removes spans that a backend will never accept. They are kept in `rejected_span` for as long as their request, so
  /// that people can see them.
  package func rejectSpans(_ keys: [SpanKey], because message: String, at now: Moment) throws {
    try demandStewardship()
    let message = message.bounded(toBytes: 1024)
    try need(keys.flatMap { [.request($0.request), .spans($0.request)] })
    for key in keys {
      try prepare(.rejectSpans).run(key.request.rawValue, key.launch, key.parts.rawValue, now.date, message)
    }
    try confirmSpans(keys)
  }

  package func spanQueue() throws -> SpanQueueRecord {
    SpanQueueRecord(
      unsent: try prepare(.countUnsent).first { $0.int(0) } ?? 0,
      rejected: try prepare(.countRejected).first { $0.int(0) } ?? 0,
      lastRejection: try prepare(.lastRejection).first { $0.text(0) })
  }

  /// The occasions of requests that ended before `time`, on the steady clock, and the oldest ones beyond `count`, at
  /// most `limit`. The search may read many rows, so it runs on a reading connection.
  func oldUnsentSpans(endedBefore time: Timestamp, beyond count: Int, limit: Int) throws -> [SpanKey] {
    let all = try prepare(.countUnsent).first { $0.int(0) } ?? 0
    guard all > 0 else { return [] }
    var keys = try prepare(.unsentBefore).all(time, limit, row: Self.spanKey)
    let surplus = all - keys.count - count
    if surplus > 0, keys.count < limit {
      let known = Set(keys)
      keys += try prepare(.unsentSpans).all(min(surplus, limit - keys.count), row: Self.spanKey)
        .filter { !known.contains($0) }
    }
    return keys
  }

  /// All spans of a request and of its shards; empty if the request is not kept.
  package func spans(of request: RequestID) throws -> [SpanSource] {
    let shards = try prepare(.shardIDs).all(request.rawValue) { RequestID($0.int64(0)) }
    return try ([request] + shards.prefix(Self.tracedShards)).flatMap { try spans(ofRow: $0) }
  }

  /// The most shards of which a trace shows the spans.
  private static let tracedShards = 1000

  private func spans(ofRow request: RequestID) throws -> [SpanSource] {
    let standing = try prepare(.occasions).first(request.rawValue) { row in
      (
        state: RequestState(code: row.int(0)), launches: row.int(1), isWaiting: !row.isNull(2),
        isShard: !row.isNull(3), allLaunches: row.optionalInt64(4).map { Int($0) }
      )
    }
    guard let standing else { return [] }
    let retried = try prepare(.earlierCompletions).all(request.rawValue) { $0.int(0) }
    // The spans of a submission and of an end are those of the whole request.
    var keys = standing.isShard ? [] : [SpanKey(request: request, launch: 0, parts: .submit)]
    for launch in 0..<standing.launches {
      let parts: SpanParts =
        standing.allLaunches == nil && retried.contains(launch + 1) ? [.wait, .launch, .complete] : [.wait, .launch]
      keys.append(SpanKey(request: request, launch: launch + 1, parts: parts))
    }
    if let all = standing.allLaunches {
      keys += (retried + (standing.state.isEnded ? [all] : [])).map {
        SpanKey(request: request, launch: $0, parts: .complete)
      }
    }
    keys += try prepare(.endedTransfers).all(request.rawValue) {
      SpanKey(request: request, launch: $0.int(0), parts: .transfer)
    }
    var last: SpanParts = standing.state.isEnded && !standing.isShard && standing.allLaunches == nil ? .complete : []
    if standing.isWaiting { last.insert(.vainWait) }
    if !last.isEmpty { keys.append(SpanKey(request: request, launch: standing.launches, parts: last)) }
    return try sources(keys)
  }

  private static func spanKey(_ row: Columns) -> SpanKey {
    SpanKey(request: RequestID(row.int64(0)), launch: row.int(1), parts: SpanParts(rawValue: row.int(2)))
  }

  /// The sources of the spans, in the order of `keys`. Neighbouring keys of one launch are made of the same rows, which
  /// are read once. Keys of a request that is not kept any more are left out. There are four exchanges with a database
  /// elsewhere at most, however many keys there are.
  private func sources(_ keys: [SpanKey]) throws -> [SpanSource] {
    var occasions: [ArraySlice<SpanKey>] = []
    var rest = keys[...]
    while let first = rest.first {
      let occasion =
        first.isOfLaunch
        ? rest.prefix { $0.request == first.request && $0.launch == first.launch && $0.isOfLaunch } : rest.prefix(1)
      occasions.append(occasion)
      rest = rest[occasion.endIndex...]
    }
    var sources = try submissions(occasions)
    sources.merge(try launches(occasions)) { first, _ in first }
    sources.merge(try transfers(occasions)) { first, _ in first }
    return occasions.indices.flatMap { sources[$0] ?? [] }
  }

  /// The sources of `submit` spans, by the positions of the occasions.
  private func submissions(_ occasions: [ArraySlice<SpanKey>]) throws -> [Int: [SpanSource]] {
    let positions = occasions.indices.filter { occasions[$0].first?.parts == .submit }
    let keys = positions.compactMap { occasions[$0].first }
    let found = try prepare(.submitSource).each(keys.map { [$0.request.rawValue] }) { try self.source(keys[$0], $1) }
    return Dictionary(uniqueKeysWithValues: zip(positions, found))
  }

  /// The sources of all occasions of launches, by the positions of the occasions.
  private func launches(_ occasions: [ArraySlice<SpanKey>]) throws -> [Int: [SpanSource]] {
    let positions = occasions.indices.filter { occasions[$0].first?.isOfLaunch == true }
    let lists = positions.compactMap { position in
      occasions[position].first.map { [$0.request.rawValue, $0.launch] as [any Bindable] }
    }
    let found = try prepare(.spanSource).each(lists) { try self.sources(occasions[positions[$0]], $1) }
    var sources = found.map { $0.first?.sources ?? [] }
    try addJoined(to: &sources, where: found.map { $0.first?.hasJoined ?? false })
    try addEvents(to: &sources, where: found.map { $0.first?.hasEvents ?? false })
    try addTransfers(to: &sources, where: found.map { $0.first?.hasTransfers ?? false })
    try addAwaited(to: &sources)
    return Dictionary(uniqueKeysWithValues: zip(positions, sources))
  }

  /// The sources of the occasions of one launch, made of its row.
  private func sources(
    _ keys: ArraySlice<SpanKey>, _ row: Columns
  ) throws -> (sources: [SpanSource], hasEvents: Bool, hasJoined: Bool, hasTransfers: Bool) {
    guard let first = keys.first else { return ([], false, false, false) }
    var common = try source(SpanKey(request: first.request, launch: first.launch, parts: []), row)
    common.isInFlow = !row.isNull(43)
    if !row.isNull(17) { common.launch = Self.launch(row, common.key) }
    let sources = keys.map { key in
      var source = common
      source.key = key
      if key.parts.contains(.complete) { source.completion = Self.completion(row, key) }
      if common.isSpread, key.parts == .complete { source.launch = nil }
      if key.parts.contains(.vainWait) { source.wait = Self.wait(row, from: 14) }
      return source
    }
    return (sources, row.bool(38), row.bool(39), row.bool(42))
  }

  /// The values that the columns of both queries begin with.
  func source(_ key: SpanKey, _ row: Columns) throws -> SpanSource {
    SpanSource(
      key: key, identifier: JobIdentifier(trusted: row.text(0)), number: row.int(1),
      definition: try knownDefinition(DefinitionID(row.int64(2))).definition, trace: row.trace(3),
      parentSpanID: row.optionalSpanID(6), submittedAt: row.time(7), shard: row.int(8), isSpread: !row.isNull(9))
  }

  /// Adds what joined the requests, where there is something.
  private func addJoined(to sources: inout [[SpanSource]], where isThere: [Bool]) throws {
    let places = sources.indices.flatMap { list in
      sources[list].indices.filter { isThere[list] && sources[list][$0].tellsJoined }.map { (list: list, source: $0) }
    }
    let joined = try self.joined(to: places.map { sources[$0.list][$0.source].key.request })
    for (place, joined) in zip(places, joined) { sources[place.list][place.source].joined = joined }
  }

  /// Adds the requests that a member of a flow has waited for to its first launch.
  private func addAwaited(to sources: inout [[SpanSource]]) throws {
    let places = sources.indices.flatMap { list in
      sources[list].indices.filter { sources[list][$0].isInFlow && sources[list][$0].tellsJoined }
        .map { (list: list, source: $0) }
    }
    let lists = places.map { [sources[$0.list][$0.source].key.request.rawValue] as [any Bindable] }
    let found = try prepare(.awaitedSpans).each(lists) { _, row in row.trace(0) }
    for (place, awaited) in zip(places, found) { sources[place.list][place.source].awaited = awaited }
  }

  /// Adds the events that belong to the occasions, where there are any.
  private func addEvents(to sources: inout [[SpanSource]], where isThere: [Bool]) throws {
    var places: [(list: Int, source: Int, phase: Int, isOfLaunch: Bool)] = []
    for list in sources.indices where isThere[list] {
      for (index, source) in sources[list].enumerated() {
        let (parts, launches) = (source.key.parts, source.key.launch)
        if parts.contains(.launch) { places.append((list, index, 2 * launches, true)) }
        if parts.contains(.vainWait) {
          places.append((list, index, 2 * launches + 1, false))
        } else if parts.contains(.wait) {
          places.append((list, index, 2 * launches - 1, false))
        }
      }
    }
    let lists = places.map { [sources[$0.list][$0.source].key.request.rawValue, $0.phase] as [any Bindable] }
    let found = try prepare(.eventsOfPhase).each(lists) { _, row in
      EventRecord(at: row.time(0), name: row.text(1), detail: row.optionalText(2))
    }
    for (place, events) in zip(places, found) {
      if place.isOfLaunch {
        sources[place.list][place.source].launchEvents = events
      } else {
        sources[place.list][place.source].waitEvents = events
      }
    }
  }

  /// The completion of this occasion. If the request was retried after this launch, its earlier completion is read from
  /// `completion`; otherwise it is read from the request's row.
  private static func completion(_ row: Columns, _ key: SpanKey) -> SpanSource.Completion {
    // The end of a request with shards has no launch, and neither has that of one which its flow has cancelled.
    let hasNoLaunch = !row.isNull(9) || key.launch == 0
    let isEarlier = !row.isNull(35) && (key.parts.contains(.launch) || hasNoLaunch)
    let first: Int32 = isEarlier ? 35 : 10
    return SpanSource.Completion(
      state: RequestState(code: row.int(first)), reason: row.optionalText(first + 1), at: row.time(first + 2),
      shards: row.optionalInt64(isEarlier ? 41 : 40).map { Int($0) })
  }

  /// Reads three columns: since when the request waited, the cause of waiting before, and the obstacles.
  private static func wait(_ row: Columns, from index: Int32) -> SpanSource.Wait? {
    guard let readyAt = row.optionalTime(index) else { return nil }
    let cause = row.optionalInt64(index + 1).flatMap { Cause(rawValue: Int($0)) }
    return SpanSource.Wait(
      readyAt: readyAt, heldBy: cause?.obstacle(until: readyAt, liveNumber: 0).code,
      obstacles: row.optionalText(index + 2).map(WaitObstacles.init) ?? WaitObstacles())
  }

  private static func launch(_ row: Columns, _ key: SpanKey) -> SpanSource.Launch {
    let record = LaunchRecord(
      launch: LaunchKey(request: key.request, number: key.launch), host: HostName(row.text(17)),
      startedAt: row.time(18), endedAt: row.optionalTime(19), outcome: row.outcome(20),
      reason: row.optionalText(21), isGraceful: row.bool(22), firstBatch: row.int(23), batches: row.int(24),
      spanID: row.spanID(25),
      expiringReason: row.optionalText(26).flatMap { ExpiryReason(code: $0, detail: row.optionalText(27)) },
      expiringSince: row.optionalTime(28), isSimulated: row.bool(29))
    return SpanSource.Launch(
      record: record, wait: wait(row, from: 30), errorType: row.optionalText(33), previousSpanID: row.optionalSpanID(34)
    )
  }
}

extension Query {
  /// A request that has ended, was retried and ends again before its next launch has spans that wait already.
  static let queueSpans = Query(
    "INSERT INTO unsent_span (request, launch, parts) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
  static let unsentSpans = Query(
    "SELECT request, launch, parts FROM unsent_span ORDER BY request, launch, parts LIMIT ?")
  static let confirmSpans = Query("DELETE FROM unsent_span WHERE request = ? AND launch = ? AND parts = ?")
  static let rejectSpans = Query(
    """
    INSERT INTO rejected_span (request, launch, parts, at, message)
    SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM request WHERE id = ?1)
    ON CONFLICT (request, launch, parts) DO NOTHING
    """)
  static let awaitedSpans = Query(
    """
    SELECT d.trace_id, d.span_id, r.is_sampled FROM dependency d JOIN request r ON r.id = d.request
    WHERE d.request = ? ORDER BY d.awaited
    """)
  static let countUnsent = Query("SELECT count(*) FROM unsent_span")
  static let countRejected = Query("SELECT count(*) FROM rejected_span")
  static let lastRejection = Query("SELECT message FROM rejected_span ORDER BY at DESC LIMIT 1")
  static let unsentBefore = Query(
    """
    SELECT u.request, u.launch, u.parts FROM request r
      JOIN unsent_span u ON u.request = r.id
    WHERE \(endedSteady("r")) < ? AND r.ended_at IS NOT NULL ORDER BY \(endedSteady("r")) LIMIT ?
    """)
  static let occasions = Query(
    """
    SELECT r.state, r.launches, r.ready_at, r.head, s.launches
    FROM request r LEFT JOIN spread s ON s.request = r.id AND r.first_unit IS NOT NULL WHERE r.id = ?
    """)
  static let earlierCompletions = Query("SELECT launches FROM completion WHERE request = ?")
  static let eventsOfPhase = Query(
    "SELECT at, name, detail FROM event WHERE request = ? AND phase = ? ORDER BY position LIMIT 128")
  /// A submission that replaces the request's parameters does not change its `submit` span: the definition is the one
  /// that the first submission had.
  static let submitSource = Query(
    """
    SELECT i.name, r.number, coalesce(r.submitted_as, r.definition), r.trace_id, r.span_id, r.is_sampled,
      r.parent_span_id, r.submitted_at, r.shard, NULL
    FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.id = ?
    """)
  static let spanSource = Query(
    """
    SELECT i.name, r.number, coalesce(l.definition, r.definition), r.trace_id, r.span_id, r.is_sampled,
      r.parent_span_id, r.submitted_at, r.shard, r.first_unit, r.state, r.reason, r.ended_at, r.launches, r.ready_at, r.held_by, r.obstacles,
      h.name, l.started_at, l.ended_at, l.outcome, l.reason, l.is_graceful, l.first_batch,
      CASE WHEN l.ended_at IS NULL
        THEN coalesce((SELECT batches FROM progress WHERE request = l.request), 0) - l.first_batch
        ELSE l.batches END,
      l.span_id, l.expiring_reason, l.expiring_detail, l.expiring_since, l.is_simulated,
      l.ready_at, l.held_by, l.obstacles, l.error_type, before.span_id,
      c.state, c.reason, c.ended_at,
      EXISTS (SELECT 1 FROM event e WHERE e.request = r.id),
      ?2 <= 1 AND EXISTS (SELECT 1 FROM joining j WHERE j.request = r.id), s.shards, c.shards,
      EXISTS (SELECT 1 FROM transfer t WHERE t.request = r.id), r.flow
    FROM request r JOIN identifier i ON i.id = r.identifier
      LEFT JOIN launch l ON l.request = r.id AND l.number = ?2 LEFT JOIN host h ON h.id = l.host
      LEFT JOIN launch before ON before.request = r.id AND before.number = ?2 - 1
      LEFT JOIN completion c ON c.request = r.id AND c.launches = ?2 LEFT JOIN spread s ON s.request = r.id
    WHERE r.id = ?1
    """)
}
