internal import BatonModel
internal import GRDB
internal import GRDBSQLite

/// A request that is about to be the waiting one of its identifier, whoever asks for it.
struct NewRequest {
  var identifier: JobIdentifier
  var definition: FrozenDefinition
  var priority: Priority
  var payload: [UInt8]?
  var earliest: Timestamp
  var principal: String
  var trace: TraceContext
  var parentSpanID: [UInt8]?
}

/// What the store knows of an identifier before a request joins it.
struct IdentifierRow {
  var id: Int64
  var lastNumber: Int
  var lastFirstLaunchAt: Timestamp?
  var waiting: Waiting?
  var hasLiveRequest = false

  struct Waiting {
    var id: Int64
    var number: Int
    var state: RequestState
    var definition: DefinitionID
  }
}

extension Verbs {
  /// Nil if no request of it was ever submitted.
  func identifier(_ name: JobIdentifier) throws -> IdentifierRow? {
    let row = try prepare(.identifier).first(name.rawValue) { row in
      IdentifierRow(id: row.int64(0), lastNumber: row.int(1), lastFirstLaunchAt: row.optionalTime(2))
    }
    guard var row else { return nil }
    row.waiting = try waiting(of: row.id)
    row.hasLiveRequest = try prepare(.liveOfIdentifier).first(row.id) { _ in true } ?? false
    return row
  }

  private func waiting(of identifier: Int64) throws -> IdentifierRow.Waiting? {
    try prepare(.waitingOfIdentifier).first(identifier) { row in
      IdentifierRow.Waiting(
        id: row.int64(0), number: row.int(1), state: RequestState(code: row.int(2)),
        definition: DefinitionID(row.int64(3)))
    }
  }

  /// Makes `new` the waiting request of its identifier: inserts it, or replaces the one that waits.
  func enqueue(_ new: NewRequest, as known: IdentifierRow?, at now: Timestamp) throws -> SubmissionReceipt {
    let readiness = Readiness.firstLaunch(
      earliest: new.earliest,
      lastFirstLaunch: new.definition.definition.isSpaced ? known?.lastFirstLaunchAt : nil,
      hasLiveRequest: known?.hasLiveRequest ?? false, at: now)
    if let waiting = known?.waiting { return try replace(waiting, by: new, readiness, at: now) }
    let number = (known?.lastNumber ?? 0) + 1
    let id = try insert(new, readiness, identifier: try advance(new.identifier, known, to: number), number, at: now)
    return SubmissionReceipt(
      request: RequestID(id), identifier: new.identifier, number: number, state: readiness.state,
      eligibleAt: readiness.eligibleAt, replaced: false)
  }

  private func advance(_ name: JobIdentifier, _ known: IdentifierRow?, to number: Int) throws -> Int64 {
    guard let known else {
      try prepare(.insertIdentifier).run(name.rawValue, number)
      return sqlite3_last_insert_rowid(db.sqliteConnection)
    }
    try prepare(.advanceIdentifier).run(number, known.id)
    return known.id
  }

  private func insert(
    _ new: NewRequest, _ readiness: Readiness, identifier: Int64, _ number: Int, at now: Timestamp
  ) throws -> Int64 {
    let id = try drawRequestID()
    try prepare(.insertRequest).run(
      id, identifier, number, new.definition.id.rawValue, new.priority.rawValue, readiness.state.code,
      readiness.cause?.rawValue, readiness.eligibleAt, new.earliest, now, new.principal, new.trace.traceID,
      new.trace.spanID, new.trace.isSampled, new.parentSpanID)
    if let payload = new.payload { try prepare(.setPayload).run(id, payload) }
    try count(pattern: new.definition.pattern, from: nil, to: readiness.state)
    return id
  }

  /// Same row, number and trace; everything else is the newest submission's (contract, row 7).
  private func replace(
    _ waiting: IdentifierRow.Waiting, by new: NewRequest, _ readiness: Readiness, at now: Timestamp
  ) throws -> SubmissionReceipt {
    try prepare(.replaceRequest).run(
      new.definition.id.rawValue, new.priority.rawValue, readiness.state.code, readiness.cause?.rawValue,
      readiness.eligibleAt, new.earliest, new.principal, waiting.id)
    if let payload = new.payload {
      try prepare(.setPayload).run(waiting.id, payload)
    } else {
      try prepare(.clearPayload).run(waiting.id)
    }
    try note("replaced", detail: new.principal.isEmpty ? nil : new.principal, of: waiting.id, at: now)
    try count(pattern: try knownDefinition(waiting.definition).pattern, from: waiting.state, to: nil)
    try count(pattern: new.definition.pattern, from: nil, to: readiness.state)
    return SubmissionReceipt(
      request: RequestID(waiting.id), identifier: new.identifier, number: waiting.number, state: readiness.state,
      eligibleAt: readiness.eligibleAt, replaced: true)
  }

  /// Adds to the history that `events(of:)` answers.
  func note(_ name: String, detail: String?, of request: Int64, at now: Timestamp) throws {
    try prepare(.insertEvent).run(request, request, now, name, detail)
  }
}

extension Query {
  static let identifier = Query("SELECT id, last_number, last_first_launch_at FROM identifier WHERE name = ?")
  static let insertIdentifier = Query("INSERT INTO identifier (name, last_number) VALUES (?, ?)")
  static let advanceIdentifier = Query("UPDATE identifier SET last_number = ? WHERE id = ?")
  static let waitingOfIdentifier = Query(
    "SELECT id, number, state, definition FROM request WHERE identifier = ? AND launches = 0 AND state <= 1")
  static let liveOfIdentifier = Query(
    "SELECT number FROM request WHERE identifier = ? AND launches > 0 AND state <= 2")
  static let insertRequest = Query(
    """
    INSERT INTO request (id, identifier, number, definition, priority, state, cause, eligible_at, earliest_at,
      submitted_at, principal, trace_id, span_id, is_sampled, parent_span_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let replaceRequest = Query(
    """
    UPDATE request SET definition = ?, priority = ?, state = ?, cause = ?, eligible_at = ?, earliest_at = ?,
      principal = ?
    WHERE id = ?
    """)
  static let setPayload = Query(
    "INSERT INTO payload (request, bytes) VALUES (?, ?) ON CONFLICT (request) DO UPDATE SET bytes = excluded.bytes")
  static let clearPayload = Query("DELETE FROM payload WHERE request = ?")
  static let insertEvent = Query(
    """
    INSERT INTO event (request, position, at, name, detail)
    VALUES (?, (SELECT coalesce(max(position), 0) + 1 FROM event WHERE request = ?), ?, ?, ?)
    """)
}
