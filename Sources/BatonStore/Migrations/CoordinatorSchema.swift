internal import GRDB

/// The eighth schema: coordinators that share the store. Each has a row with its own counter of commits, each lease has
/// an owner and a number, and what was counted in the row of a pattern is a row for each coordinator, so that no two
/// coordinators write the same row all the time.
enum CoordinatorSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: coordinators + leases + shares) }

  /// A row is a tenure: it begins with the start of one coordinator and ends for ever. The tenures of a store of an
  /// earlier version have ended; they keep the receipts of their workers valid.
  private static let coordinators = """
    CREATE TABLE coordinator (
      epoch INTEGER PRIMARY KEY,  -- 1, 2 … in the order of their starts
      tenure INTEGER NOT NULL UNIQUE,  -- drawn: a copy of the store that is started has another
      address TEXT NOT NULL,
      beat INTEGER NOT NULL DEFAULT 0,  -- raised each second while others can have the store open too
      commits INTEGER NOT NULL CHECK (commits >= 0),  -- begins with the highest number of those before
      pending INTEGER NOT NULL DEFAULT 0,  -- the sum of scheduled and ready in its shares
      is_ended INTEGER NOT NULL DEFAULT 0 CHECK (is_ended IN (0, 1)),
      is_settled INTEGER NOT NULL DEFAULT 0 CHECK (is_settled <= is_ended)  -- another one has its shares
    ) STRICT;
    INSERT INTO coordinator (epoch, tenure, address, commits, is_ended, is_settled)
      SELECT t.id, t.name, '', coalesce(t.last, s.sequence), 1, 1 FROM tenure t, store s;
    CREATE INDEX coordinator_unsettled ON coordinator (is_ended) WHERE is_settled = 0;
    DROP TABLE tenure;
    ALTER TABLE store DROP COLUMN epoch;
    ALTER TABLE store DROP COLUMN sequence;
    ALTER TABLE clock ADD COLUMN steward INTEGER NOT NULL DEFAULT 0;  -- epoch of the coordinator whose reading it is
    ALTER TABLE store ADD COLUMN steward INTEGER;  -- epoch of the coordinator that keeps house; null for none
    ALTER TABLE store ADD COLUMN definitions_version INTEGER NOT NULL DEFAULT 0;  -- raised when the applied ones change

    """

  private static let leases = """
    ALTER TABLE host ADD COLUMN owner INTEGER;  -- epoch of the coordinator that serves the lease
    ALTER TABLE host ADD COLUMN lease INTEGER NOT NULL DEFAULT 0;  -- raised when its owner or its worker process changes
    ALTER TABLE host ADD COLUMN link INTEGER;  -- number of its connection to its owner; null while it is away
    UPDATE host SET owner = 0 WHERE incarnation IS NOT NULL;

    """

  /// The numbers of one coordinator may be negative: one makes a request, and another one ends it. Their sums are never
  /// negative. The numbers that an earlier version counted belong to the epoch 0, which no coordinator has.
  private static let shares = """
    CREATE TABLE share (
      pattern INTEGER NOT NULL REFERENCES pattern (id),
      coordinator INTEGER NOT NULL,
      scheduled INTEGER NOT NULL,
      ready INTEGER NOT NULL,
      running INTEGER NOT NULL,
      succeeded INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      cancelled INTEGER NOT NULL,
      use_day INTEGER NOT NULL,  -- days since 1970, on the steady clock
      used INTEGER NOT NULL CHECK (used >= 0),  -- nanoseconds of that day
      PRIMARY KEY (pattern, coordinator)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO share
      SELECT id, 0, scheduled, ready, running, succeeded, failed, cancelled, use_day, used FROM pattern;
    ALTER TABLE pattern DROP COLUMN scheduled;
    ALTER TABLE pattern DROP COLUMN ready;
    ALTER TABLE pattern DROP COLUMN running;
    ALTER TABLE pattern DROP COLUMN succeeded;
    ALTER TABLE pattern DROP COLUMN failed;
    ALTER TABLE pattern DROP COLUMN cancelled;
    ALTER TABLE pattern DROP COLUMN use_day;
    ALTER TABLE pattern DROP COLUMN used;
    """
}
