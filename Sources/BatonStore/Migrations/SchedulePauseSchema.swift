internal import GRDB

/// The twenty-second schema: schedules that are paused, backfills, and the time of the calendar for which a request
/// stands.
enum SchedulePauseSchema {
  static func extend(_ db: Database) throws {
    try db.execute(sql: columns + requests)
    try db.execute(sql: waiting)
  }

  /// A definition with a schedule concerns one identifier, so its row has what is said of the schedule.
  private static let columns = """
    ALTER TABLE identifier ADD COLUMN paused_at INTEGER;
    ALTER TABLE identifier ADD COLUMN paused_by TEXT CHECK ((paused_by IS NULL) = (paused_at IS NULL));
    ALTER TABLE identifier ADD COLUMN paused_because TEXT CHECK ((paused_because IS NULL) = (paused_at IS NULL));
    ALTER TABLE identifier ADD COLUMN backfill TEXT;  -- JSON: the range, and how far it has come
    CREATE INDEX identifier_standing ON identifier (id) WHERE paused_at IS NOT NULL OR backfill IS NOT NULL;

    """

  /// A request that a person has asked for stands for no time. A request of a paused schedule has cause 1 and 2^63 - 1
  /// in `eligible_at`.
  private static let requests = """
    ALTER TABLE request ADD COLUMN scheduled_at INTEGER;  -- the time of the calendar, or of `repeat`
    ALTER TABLE request ADD COLUMN backfill INTEGER NOT NULL DEFAULT 0 CHECK (backfill BETWEEN 0 AND 2);

    """

  /// What waits for its time when the store is upgraded is at the time that its chain is counted from.
  private static let waiting = """
    UPDATE request SET scheduled_at = earliest_at
    WHERE launches = 0 AND state <= 1 AND head IS NULL AND poke IS NULL AND EXISTS (
      SELECT 1 FROM identifier i
      WHERE i.id = request.identifier AND i.anchor_at = request.earliest_at AND i.anchor_is_dated = request.is_dated)
    """
}
