internal import GRDB

/// The third schema: the columns that spans are made of, and the list of spans that a backend has not confirmed yet.
///
/// A span has no row of its own. It is made of the rows of its request and launch, and those columns do not change
/// after the span has ended. `unsent_span` lists the spans that are not confirmed yet.
enum TraceSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns + queue + waits) }

  /// The store does not know since when a request has been ready. The time of the migration is used.
  private static let waits = """

    UPDATE request SET ready_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000000 WHERE state = 1;
    """

  /// Times that record when something happened, as dates of the wall clock.
  private static let columns = """
    ALTER TABLE request ADD COLUMN ready_at INTEGER;  -- since when it waits for a host
    ALTER TABLE request ADD COLUMN held_by INTEGER CHECK (held_by BETWEEN 0 AND 3);  -- the cause that ended then
    ALTER TABLE request ADD COLUMN submitted_as INTEGER;  -- its definition before another submission replaced it
    ALTER TABLE request ADD COLUMN obstacles TEXT;  -- of a wait that a cancellation ended
    ALTER TABLE launch ADD COLUMN ready_at INTEGER;  -- when its wait began; null if there was none
    ALTER TABLE launch ADD COLUMN held_by INTEGER CHECK (held_by BETWEEN 0 AND 3);
    ALTER TABLE launch ADD COLUMN obstacles TEXT;
    ALTER TABLE launch ADD COLUMN error_type TEXT;
    -- Twice the number of launches, and one more while none of them is open; null after the request ended.
    ALTER TABLE event ADD COLUMN phase INTEGER;
    CREATE TABLE completion (  -- those before the present one, of requests that were retried
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      launches INTEGER NOT NULL,
      state INTEGER NOT NULL CHECK (state BETWEEN 3 AND 5),
      reason TEXT,
      ended_at INTEGER NOT NULL,
      PRIMARY KEY (request, launches)
    ) STRICT, WITHOUT ROWID;

    """

  /// `unsent_span` has no foreign key: the key would cost a lookup at every launch, and `prune` does not delete a
  /// request before its spans were sent.
  private static let queue = """
    CREATE TABLE unsent_span (
      request INTEGER NOT NULL,
      launch INTEGER NOT NULL,  -- launches of the request until then
      parts INTEGER NOT NULL CHECK (parts > 0),  -- SpanParts
      PRIMARY KEY (request, launch, parts)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE rejected_span (  -- a backend will not have them
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      launch INTEGER NOT NULL,
      parts INTEGER NOT NULL,
      at INTEGER NOT NULL,
      message TEXT NOT NULL,
      PRIMARY KEY (request, launch, parts)
    ) STRICT, WITHOUT ROWID;
    """
}
