package import BatonModel

/// A ready request with all that its next launch takes from it.
struct Candidate {
  var request: RequestID
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var definition: DefinitionID
  var priority: Priority
  var launches: Int
  var principal: String
  var earliestAt: Timestamp
  var frozenItems: Int?
  var trace: TraceContext
  var progress: Progress
  var payload: [UInt8]?
}

extension Verbs {
  package func promote(at now: Timestamp, limit: Int) throws -> Promotion {
    let due = try prepare(.due).all(now, limit) { row in
      (row.int64(0), RequirementClass(definition: DefinitionID(row.int64(1)), priority: Priority(code: row.int(2))))
    }
    var classes: [RequirementClass: Int] = [:]
    let makeReady = try prepare(.makeReady)
    for (id, requirementClass) in due {
      try makeReady.run(id)
      try count(pattern: try knownDefinition(requirementClass.definition).pattern, from: .scheduled, to: .ready)
      classes[requirementClass, default: 0] += 1
    }
    return Promotion(classes: classes, nextEligibleAt: try nextEligibleAt())
  }

  /// Nil if nothing waits for a time.
  func nextEligibleAt() throws -> Timestamp? {
    let next = try prepare(.nextEligible).first { $0.time(0) }
    return next == .distantFuture ? nil : next
  }

  package func claim(_ claims: [Claim], at now: Timestamp) throws -> [ClaimAnswer] {
    try claims.map { try claim($0, at: now) }
  }

  /// Nothing is claimed for an incarnation that does not hold the lease of its host.
  private func claim(_ claim: Claim, at now: Timestamp) throws -> ClaimAnswer {
    let wanted = claim.requirementClass
    let host = try holder(claim.host, claim.incarnation)
    let places = host == nil ? [] : claim.places
    var ready = try prepare(.oldestReady).all(
      wanted.definition.rawValue, wanted.priority.rawValue, places.count + 1, row: Self.candidate)
    let hasMore = ready.count > places.count
    if hasMore { ready.removeLast() }
    guard let host, !ready.isEmpty else { return ClaimAnswer(assignments: [], hasMore: hasMore, nextEligibleAt: nil) }
    let assignments = try zip(ready, places).map { candidate, place in
      try start(candidate, on: host, claim.incarnation, place, at: now)
    }
    let repeats = try knownDefinition(wanted.definition).definition.repeatEvery != nil
    return ClaimAnswer(
      assignments: assignments, hasMore: hasMore, nextEligibleAt: repeats ? try nextEligibleAt() : nil)
  }

  /// Starts the first launch of a request that was just submitted and is ready.
  func start(
    _ request: RequestID, on host: Int64, _ incarnation: Incarnation, _ place: Claim.Place, at now: Timestamp
  ) throws -> Assignment {
    guard let candidate = try prepare(.readyRequest).first(request.rawValue, row: Self.candidate) else {
      throw StoreError(.corrupt, "A request that was just submitted is not there.")
    }
    return try start(candidate, on: host, incarnation, place, at: now)
  }

  private func start(
    _ candidate: Candidate, on host: Int64, _ incarnation: Incarnation, _ place: Claim.Place, at now: Timestamp
  ) throws -> Assignment {
    let (request, number) = (candidate.request.rawValue, candidate.launches + 1)
    let definition = try knownDefinition(candidate.definition)
    try prepare(.startRequest).run(number, host, now, request)
    try prepare(.insertLaunch).run(
      request, number, host, incarnation.rawValue, GPUList.text(place.gpus), place.spanID, now,
      candidate.progress.batches)
    try count(pattern: definition.pattern, from: .ready, to: .running)
    if number == 1 {
      if definition.definition.kind == .refresh { try prepare(.noteFirstLaunch).run(now, candidate.identifierID) }
      if definition.definition.repeatEvery != nil {
        try submitNext(after: candidate, launchSpan: place.spanID, at: now)
      }
    }
    return Assignment(candidate, place, startedAt: now)
  }

  static func candidate(_ row: Columns) -> Candidate {
    Candidate(
      request: RequestID(row.int64(0)), identifierID: row.int64(1), identifier: JobIdentifier(trusted: row.text(2)),
      number: row.int(3), definition: DefinitionID(row.int64(4)), priority: Priority(code: row.int(5)),
      launches: row.int(6), principal: row.text(7), earliestAt: row.time(8),
      frozenItems: row.optionalInt64(9).map(Int.init), trace: row.trace(10), progress: progress(row, from: 13),
      payload: row.optionalBlob(17))
  }

  /// Four columns: batches, cursor, completed and total units.
  static func progress(_ row: Columns, from index: Int32) -> Progress {
    Progress(
      batches: row.int(index), cursor: row.optionalBlob(index + 1), completedUnits: row.int64(index + 2),
      totalUnits: row.optionalInt64(index + 3))
  }
}

extension Assignment {
  init(_ candidate: Candidate, _ place: Claim.Place, startedAt: Timestamp) {
    self.init(
      launch: LaunchKey(request: candidate.request, number: candidate.launches + 1), identifier: candidate.identifier,
      requestNumber: candidate.number, definition: candidate.definition, priority: candidate.priority,
      payload: candidate.payload, progress: candidate.progress, frozenItems: candidate.frozenItems,
      isResumption: candidate.launches > 0, principal: candidate.principal,
      trace: TraceContext(
        traceID: candidate.trace.traceID, spanID: place.spanID, isSampled: candidate.trace.isSampled),
      startedAt: startedAt, gpus: place.gpus)
  }
}

extension SubmissionOffer.Offer {
  var place: Claim.Place { Claim.Place(gpus: gpus, spanID: spanID) }
}

extension Query {
  static let due = Query(
    """
    SELECT id, definition, priority FROM request INDEXED BY request_eligible WHERE state = 0 AND eligible_at <= ?
    ORDER BY eligible_at LIMIT ?
    """)
  static let makeReady = Query("UPDATE request SET state = 1, cause = NULL WHERE id = ?")
  static let nextEligible = Query(
    "SELECT eligible_at FROM request INDEXED BY request_eligible WHERE state = 0 ORDER BY eligible_at LIMIT 1")
  static let oldestReady = Query(
    candidateColumns + " WHERE r.state = 1 AND r.definition = ? AND r.priority = ? ORDER BY r.id LIMIT ?")
  static let readyRequest = Query(candidateColumns + " WHERE r.id = ? AND r.state = 1")
  static let startRequest = Query(
    """
    UPDATE request SET state = 2, launches = ?, host = ?, started_at = coalesce(started_at, ?) WHERE id = ?
    """)
  static let insertLaunch = Query(
    """
    INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, first_batch)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let noteFirstLaunch = Query("UPDATE identifier SET last_first_launch_at = ? WHERE id = ?")

  /// What `Verbs.candidate` reads.
  static let candidateColumns = """
    SELECT r.id, r.identifier, i.name, r.number, r.definition, r.priority, r.launches, r.principal, r.earliest_at,
      r.frozen_items, r.trace_id, r.span_id, r.is_sampled,
      coalesce(p.batches, 0), p.cursor, coalesce(p.completed_units, 0), p.total_units, y.bytes
    FROM request r JOIN identifier i ON i.id = r.identifier
      LEFT JOIN progress p ON p.request = r.id LEFT JOIN payload y ON y.request = r.id
    """
}
