internal import GRDB

/// The twenty-fourth schema: limits by key. A request that the limit of a key keeps from starting is scheduled with the
/// cause 1 and 2^63 - 2 in `eligible_at`, so no time makes it ready, and `waits_on` names the key. Once it has another
/// state or another time, `waits_on` says what it has waited for last.
enum KeySchema {
  static func extend(_ db: Database) throws { try db.execute(sql: tables) }

  /// A name is the kind of the limit, a colon and the key. Times are on the steady clock.
  private static let tables = """
    ALTER TABLE request ADD COLUMN waits_on TEXT;
    CREATE INDEX request_waits_on ON request (waits_on, definition, priority, id)
      WHERE state = 0 AND eligible_at = 9223372036854775806;
    CREATE TABLE limit_key (
      name TEXT NOT NULL PRIMARY KEY,
      running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),  -- of a concurrency: its launches
      full_at INTEGER NOT NULL DEFAULT 0,  -- of a rate: when the bucket is full again
      due_at INTEGER,  -- when to look whether a request that waits may start; null: nothing but an end lets one start
      set_limit INTEGER CHECK (set_limit >= 1),  -- what a person has set; null: the definitions say it
      set_per INTEGER CHECK (set_per >= 1),
      set_burst INTEGER CHECK (set_burst >= 1),
      last_limit INTEGER CHECK (last_limit >= 1),  -- what has limited the last launch
      last_per INTEGER CHECK (last_per >= 1),
      last_burst INTEGER CHECK (last_burst >= 1),
      CHECK (set_limit IS NOT NULL OR set_per IS NULL),
      CHECK ((set_per IS NULL) = (set_burst IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX limit_key_due ON limit_key (due_at) WHERE due_at IS NOT NULL;
    CREATE TABLE limit_line (
      name TEXT NOT NULL,  -- requests of this class may wait for this key
      definition INTEGER NOT NULL,
      priority INTEGER NOT NULL,
      PRIMARY KEY (name, definition, priority)
    ) STRICT, WITHOUT ROWID;
    """
}
