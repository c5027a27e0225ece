internal import GRDB

/// The ninth schema: the index of scheduled requests is one of their ids. An index of their state, which is the same
/// for all of them, looked better to SQLite than the index of the times at which they are due.
enum ScheduledIndexSchema {
  static func extend(_ db: Database) throws {
    try db.execute(
      sql: """
        DROP INDEX request_scheduled;
        CREATE INDEX request_scheduled ON request (id) WHERE state = 0;  -- for lists, and for cancelling all
        """)
  }
}
