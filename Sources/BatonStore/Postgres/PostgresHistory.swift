internal import BatonPostgres

/// Which history a database in PostgreSQL belongs to. The number of the server changes when a store is restored from a
/// dump; the timeline changes when a standby takes over, or when a server was recovered from a backup. The store keeps
/// both in a table of its own, `baton_server`, so that a coordinator that starts can say that they have changed.
package struct PostgresHistory: Hashable, Sendable {
  package struct Point: Hashable, Sendable {
    /// The number that `initdb` gave to the server (`pg_control_system`).
    package var system: Int64
    package var timeline: Int64

    package init(system: Int64, timeline: Int64) { (self.system, self.timeline) = (system, timeline) }
  }

  package var present: Point
  /// What it was before the last change; `nil` if there was none.
  package var former: Point?
  /// When a coordinator has noticed that change, by the server's clock; `nil` if none has yet.
  package var noticedAt: String?

  package init(present: Point, former: Point? = nil, noticedAt: String? = nil) {
    (self.present, self.former, self.noticedAt) = (present, former, noticedAt)
  }

  /// The last change, as a person is told; `nil` if there was none.
  package var change: String? {
    guard let former else { return nil }
    if former.system != present.system {
      return "the store is on another server than before (system identifier \(present.system), before "
        + "\(former.system)), as after a dump was restored"
    }
    return "the server's timeline is \(present.timeline), and was \(former.timeline): a standby has taken over, or the "
      + "server was recovered from a backup"
  }
}

extension PostgresHistory {
  /// Where the server is now. The timeline is that of the log that is written, which a promotion changes at once.
  private static let question = PostgresStatement(
    """
    SELECT system_identifier, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint
    FROM pg_control_system()
    """)

  /// Keeps where the server is, and finds out whether that has changed since the last start of a coordinator.
  /// - Returns: `nil` if it has not changed, or if this user may not ask.
  static func note(
    on connection: PostgresConnection, deadline: ContinuousClock.Instant
  ) throws -> PostgresHistory? {
    guard let present = try present(on: connection, deadline) else { return nil }
    let values: [PostgresValue] = [.integer(present.system), .integer(present.timeline)]
    let lock = PostgresValue.integer(Int64(PostgresMigrations.lock))
    let answers = try connection.run(
      [
        PostgresStatement("BEGIN"), PostgresStatement("SELECT pg_advisory_xact_lock($1)", [lock]),
        PostgresStatement(
          """
          CREATE TABLE IF NOT EXISTS baton_server (system bigint NOT NULL, timeline bigint NOT NULL,
            former_system bigint, former_timeline bigint, noticed_at text)
          """),
        PostgresStatement(
          """
          INSERT INTO baton_server (system, timeline) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM baton_server)
          """, values),
        PostgresStatement(
          """
          UPDATE baton_server SET former_system = system, former_timeline = timeline, system = $1, timeline = $2,
            noticed_at = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
          WHERE system <> $1 OR timeline <> $2 RETURNING former_system, former_timeline, noticed_at
          """, values),
        PostgresStatement("COMMIT"),
      ], deadline: deadline)
    guard answers[4].count == 1 else { return nil }
    let former = Point(system: try answers[4].integer(0, 0), timeline: try answers[4].integer(0, 1))
    return PostgresHistory(present: present, former: former, noticedAt: try answers[4].text(0, 2))
  }

  /// Reads what the store and the server say, and changes nothing.
  /// - Returns: `nil` if this user may not ask.
  static func read(
    _ connection: PostgresConnection, deadline: ContinuousClock.Instant
  ) throws -> PostgresHistory? {
    guard let present = try present(on: connection, deadline) else { return nil }
    let exists = PostgresStatement("SELECT to_regclass('baton_server') IS NOT NULL")
    guard try connection.run(exists, deadline: deadline).integer(0, 0) == 1 else {
      return PostgresHistory(present: present)
    }
    let rows = try connection.run(
      PostgresStatement("SELECT system, timeline, former_system, former_timeline, noticed_at FROM baton_server"),
      deadline: deadline)
    guard rows.count == 1 else { return PostgresHistory(present: present) }
    let kept = Point(system: try rows.integer(0, 0), timeline: try rows.integer(0, 1))
    if kept != present { return PostgresHistory(present: present, former: kept) }
    guard let system = try rows.integerIfAny(0, 2), let timeline = try rows.integerIfAny(0, 3) else {
      return PostgresHistory(present: present)
    }
    return PostgresHistory(
      present: present, former: Point(system: system, timeline: timeline), noticedAt: try rows.textIfAny(0, 4))
  }

  private static func present(
    on connection: PostgresConnection, _ deadline: ContinuousClock.Instant
  ) throws -> Point? {
    do {
      let rows = try connection.run(question, deadline: deadline)
      return Point(system: try rows.integer(0, 0), timeline: try rows.integer(0, 1))
    } catch {
      // It is not permitted, or the server is a standby.
      if ["42501", "55000"].contains(error.sqlState) { return nil }
      throw error
    }
  }
}
