internal import GRDB

/// The fourteenth schema: when a request ended on the steady clock. By that time the requests that have ended are kept:
/// the wall clocks of two coordinators, or of one before and after a jump, may be years apart.
enum EndingSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: text) }

  /// A request that ended in an earlier version has only the date of its end. The index has the same order.
  private static let text = """
    ALTER TABLE request ADD COLUMN ended_steady INTEGER;  -- steady clock; null: not ended, or in an earlier version
    DROP INDEX request_ended;
    CREATE INDEX request_ended_steady ON request (coalesce(ended_steady, ended_at)) WHERE ended_at IS NOT NULL;
    """
}
