package import BatonModel

/// An event in the history of a request.
package struct EventRecord: Hashable, Sendable {
  package var at: Timestamp
  /// The name of the event, for example `replaced`, `retried` or `skippedBatch`.
  package var name: String
  package var detail: String?

  package init(at: Timestamp, name: String, detail: String? = nil) {
    self.at = at
    self.name = name
    self.detail = detail
  }
}

extension Verbs {
  /// Adds to the history that `events(of:)` answers.
  func note(_ event: RequestEvent, detail: String?, of request: Int64, at now: Moment) throws {
    try need(.history(RequestID(request)))
    try prepare(.insertEvent).run(request, now.date, event.rawValue, detail)
  }

  package func note(_ event: RequestEvent, detail: String?, of request: RequestID, at now: Moment) throws {
    try need(.request(request))
    guard try prepare(.requestExists).first(request.rawValue, row: { _ in true }) == true else { return }
    try note(event, detail: detail?.bounded(toBytes: Self.maximumDetailBytes), of: request.rawValue, at: now)
  }

  private static let maximumDetailBytes = 4096

  package func events(of request: RequestID) throws -> [EventRecord] {
    guard try prepare(.shardOf).first(request.rawValue, row: { _ in true }) == true else {
      return try prepare(.events).all(request.rawValue, row: Self.event)
    }
    return try prepare(.eventsOfShards).all(request.rawValue, Self.maximumEvents, row: Self.event).reversed()
  }

  private static func event(_ row: Columns) -> EventRecord {
    EventRecord(at: row.time(0), name: row.text(1), detail: row.optionalText(2))
  }

  /// The most events that are read at once, the last ones: a request with shards may have had thousands.
  private static let maximumEvents = 10_000
}

extension Query {
  static let requestExists = Query("SELECT 1 FROM request WHERE id = ?")
  static let events = Query("SELECT at, name, detail FROM event WHERE request = ? ORDER BY position")
  static let eventsOfShards = Query(
    """
    SELECT e.at, e.name, e.detail
    FROM (SELECT id FROM request WHERE id = ?1 UNION ALL SELECT id FROM request WHERE head = ?1) AS r
      JOIN event e ON e.request = r.id
    ORDER BY e.at DESC, e.request DESC, e.position DESC LIMIT ?2
    """)
  static let insertEvent = Query(
    """
    INSERT INTO event (request, position, at, name, detail, phase)
    VALUES (?1, (SELECT coalesce(max(position), 0) + 1 FROM event WHERE request = ?1), ?2, ?3, ?4,
      (SELECT CASE WHEN state >= 3 THEN NULL WHEN state = 2 THEN 2 * launches ELSE 2 * launches + 1 END
        FROM request WHERE id = ?1))
    """)
}
