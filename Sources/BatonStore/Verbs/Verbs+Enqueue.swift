internal import BatonModel

/// A request that has just become the waiting request of its identifier.
struct Enqueued {
  var receipt: SubmissionReceipt
  var identifierID: Int64
}

extension Verbs {
  /// Makes `new` the waiting request of its identifier: inserts it, or replaces the request that waits.
  /// - Parameter known: the row of the identifier; `nil` if it has never had a request.
  func enqueue(_ new: NewRequest, as known: IdentifierRow?, at now: Moment) throws -> Enqueued {
    let readiness = Readiness.firstLaunch(
      earliest: new.earliest,
      spacedUntil: known?.history.spacedUntil(new.definition.definition, poke: new.mark(over: known?.waiting)),
      isHeld: known?.liveNumber != nil || new.waits(over: known?.waiting) > 0,
      overlap: new.definition.definition.schedule?.overlap ?? .wait,
      isPaused: new.scheduledAt != nil && known?.standing.pause != nil, at: now)
    if let known, let waiting = known.waiting {
      let receipt = try replace(waiting, of: known.id, by: new, readiness, at: now)
      return Enqueued(receipt: receipt, identifierID: known.id)
    }
    let number = (known?.lastNumber ?? 0) + 1
    let identifier = try advance(new.identifier, known, to: number)
    let id = try insert(new, readiness, identifier: identifier, number, at: now)
    if new.definition.definition.repeats, new.mark != .isPart { try setAnchor(new.earliest, of: identifier) }
    if new.poke == .immediate { try notePoke(new, of: id, at: now) }
    let receipt = SubmissionReceipt(
      RequestID(id), new.identifier, number, readiness, replaced: false, traceID: new.trace.traceID, at: now)
    return Enqueued(receipt: receipt, identifierID: identifier)
  }

  /// Inserts the identifier or raises its last request number. Returns the number of its row.
  private func advance(_ name: JobIdentifier, _ known: IdentifierRow?, to number: Int) throws -> Int64 {
    guard let known else {
      let id = try draw(.identifier)
      try prepare(.insertIdentifier).run(id, name.rawValue, number)
      return id
    }
    try prepare(.advanceIdentifier).run(number, known.id)
    return known.id
  }

  private func insert(
    _ new: NewRequest, _ readiness: Readiness, identifier: Int64, _ number: Int, at now: Moment
  ) throws -> Int64 {
    let id = try draw(.request)
    try prepare(.insertRequest).run(
      id, identifier, number, new.definition.id.rawValue, new.priority.rawValue, readiness.state.code,
      readiness.cause?.rawValue, readiness.eligibleAt, new.earliest.at, new.earliest.isDated, new.poke?.rawValue,
      now.date, new.principal, new.trace.traceID, new.trace.spanID, new.trace.isSampled, new.parentSpanID,
      readiness.state == .ready ? now.date : nil, new.followed, new.scheduledAt, new.mark.rawValue,
      new.place.map { $0.flow?.rawValue ?? id }, new.place?.waits.count ?? 0)
    if let place = new.place { try noteWaits(place, of: id) }
    try queueSpans([.submit], of: id, launch: 0, isSampled: new.trace.isSampled)
    if let payload = new.payload { try prepare(.setPayload).run(id, payload) }
    try setPatience(of: id, new.definition.definition, new.earliest, at: now)
    try count(pattern: new.definition.pattern, from: nil, to: readiness.state)
    return id
  }

  /// Replaces the parameters of the waiting request by those of `new`. The row, the number and the trace stay;
  /// everything else is taken from the newest submission (contract, row 7). The chain of a repeating definition keeps
  /// its anchor.
  private func replace(
    _ waiting: IdentifierRow.Waiting, of identifier: Int64, by new: NewRequest, _ readiness: Readiness, at now: Moment
  ) throws -> SubmissionReceipt {
    try need([.payload(RequestID(waiting.id)), .history(RequestID(waiting.id))])
    let readiness = try replaceTransfers(of: waiting, by: new, readiness, at: now)
    try forgetPause(of: waiting)
    if new.poke == nil { try dropWaits(of: waiting) }
    try prepare(.replaceRequest).run(
      new.definition.id.rawValue, new.priority.rawValue, readiness.state.code, readiness.cause?.rawValue,
      readiness.eligibleAt, new.earliest.at, new.earliest.isDated, new.mark(over: waiting)?.rawValue, new.principal,
      waiting.id, now.date, new.followed, new.scheduledAt, new.mark.rawValue, new.flow(over: waiting),
      new.waits(over: waiting))
    if let place = new.place { try noteWaits(place, of: waiting.id) }
    if let payload = new.payload {
      try prepare(.setPayload).run(waiting.id, payload)
    } else {
      try prepare(.clearPayload).run(waiting.id)
    }
    let old = try knownDefinition(waiting.definition)
    try setPatience(of: waiting.id, new.definition.definition, after: old.definition, new.earliest, at: now)
    if new.definition.definition.repeats, !old.definition.repeats, new.mark != .isPart {
      try setAnchor(new.earliest, of: identifier)
    }
    try noteReplacement(new, of: waiting.id, at: now)
    try count(pattern: old.pattern, from: waiting.state, to: nil)
    try count(pattern: new.definition.pattern, from: nil, to: readiness.state)
    var receipt = SubmissionReceipt(
      RequestID(waiting.id), new.identifier, waiting.number, readiness, replaced: true, traceID: waiting.traceID,
      at: now)
    // A ready request that stays ready keeps its turn at the keys that it still has.
    if waiting.state == .ready, readiness.state != .ready || new.definition.id != old.id {
      receipt.due.join(try passTurn(of: new.identifier, old.definition, at: now))
    }
    return receipt
  }

  /// Adds the event of a replacement or of a poke to the request's history.
  private func noteReplacement(_ new: NewRequest, of request: Int64, at now: Moment) throws {
    if new.poke != nil { return try notePoke(new, of: request, at: now) }
    try note(.replaced, detail: new.principal.isEmpty ? nil : new.principal, of: request, at: now)
  }
}

extension NewRequest {
  /// How many other requests the request waits for, once it has replaced `waiting`. A poke joins the request that
  /// waits, and leaves it in its flow; any other submission takes it out of it.
  fileprivate func waits(over waiting: IdentifierRow.Waiting?) -> Int {
    place?.waits.count ?? (poke == nil ? 0 : waiting?.waitsFor ?? 0)
  }

  fileprivate func flow(over waiting: IdentifierRow.Waiting) -> Int64? {
    place.map { $0.flow?.rawValue ?? waiting.id } ?? (poke == nil ? nil : waiting.flow)
  }
}

extension SubmissionReceipt {
  fileprivate init(
    _ request: RequestID, _ identifier: JobIdentifier, _ number: Int, _ readiness: Readiness, replaced: Bool,
    traceID: TraceID, at now: Moment
  ) {
    self.init(
      request: request, identifier: identifier, number: number, state: readiness.state,
      eligibleAt: readiness.eligibleDate(at: now), replaced: replaced, due: readiness.due, traceID: traceID)
  }
}

extension Query {
  static let insertIdentifier = Query("INSERT INTO identifier (id, name, last_number) VALUES (?, ?, ?)")
  static let advanceIdentifier = Query("UPDATE identifier SET last_number = ? WHERE id = ?")
  static let insertRequest = Query(
    """
    INSERT INTO request (id, identifier, number, definition, priority, state, cause, eligible_at, earliest_at,
      is_dated, poke, submitted_at, principal, trace_id, span_id, is_sampled, parent_span_id, ready_at, followed,
      scheduled_at, backfill, flow, waits_for)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let replaceRequest = Query(
    """
    UPDATE request SET definition = ?1, priority = ?2, state = ?3, cause = ?4, eligible_at = ?5, earliest_at = ?6,
      is_dated = ?7, poke = ?8, principal = ?9, held_by = coalesce(cause, held_by),
      submitted_as = coalesce(submitted_as, definition), followed = ?12,
      scheduled_at = ?13, backfill = ?14, flow = ?15, waits_for = ?16,
      ready_at = CASE WHEN ?3 = 1 THEN coalesce(ready_at, ?11) END
    WHERE id = ?10
    """)
  static let setPayload = Query(
    "INSERT INTO payload (request, bytes) VALUES (?, ?) ON CONFLICT (request) DO UPDATE SET bytes = excluded.bytes")
  static let clearPayload = Query("DELETE FROM payload WHERE request = ?")
}
