internal import GRDB

/// The second schema: two clocks, pokes, results of refreshes, daily allowances, evictions, and simulated launches.
///
/// Times that record when something happened are dates of the wall clock, in nanoseconds since 1970 UTC. Times that
/// decide are on the steady clock: `request.eligible_at`, `identifier.last_first_launch_at`, `launch.started_steady`
/// and `submission.at`. `request.earliest_at` and `identifier.anchor_at` are on the wall clock if they are marked as
/// dated, and otherwise on the steady clock. A request that waits for a date has the date in `earliest_at` and 2^63 - 1
/// in `eligible_at`, so no time of the steady clock makes it ready.
///
/// In a store of the first schema both clocks agree, so its times need no conversion.
enum ContractSchema {
  static func extend(_ db: Database) throws {
    try db.execute(sql: fleet + definitions + requests + launches + pokes)
  }

  private static let fleet = """
    CREATE TABLE clock (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      date INTEGER NOT NULL,
      steady INTEGER NOT NULL,
      boot TEXT NOT NULL,
      instant INTEGER NOT NULL
    ) STRICT;
    ALTER TABLE host ADD COLUMN use_day INTEGER NOT NULL DEFAULT 0;  -- days since 1970, on the steady clock
    ALTER TABLE host ADD COLUMN used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0);  -- nanoseconds of that day
    ALTER TABLE host ADD COLUMN word TEXT;  -- JSON: what it said of itself last
    CREATE TABLE eviction (
      host INTEGER NOT NULL REFERENCES host (id),
      pattern TEXT NOT NULL,
      PRIMARY KEY (host, pattern)
    ) STRICT, WITHOUT ROWID;

    """

  private static let definitions = """
    ALTER TABLE pattern ADD COLUMN use_day INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE pattern ADD COLUMN used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0);
    ALTER TABLE pattern ADD COLUMN usual_batch INTEGER CHECK (usual_batch >= 0);  -- nanoseconds
    ALTER TABLE identifier ADD COLUMN no_data_in_row INTEGER NOT NULL DEFAULT 0 CHECK (no_data_in_row >= 0);
    ALTER TABLE identifier ADD COLUMN anchor_at INTEGER;  -- of the chain of a repeating definition
    ALTER TABLE identifier ADD COLUMN anchor_is_dated INTEGER
      CHECK ((anchor_is_dated IS NULL) = (anchor_at IS NULL)) CHECK (anchor_is_dated BETWEEN 0 AND 1);
    UPDATE identifier SET anchor_is_dated = 0, anchor_at = (
      SELECT r.earliest_at FROM request r WHERE r.identifier = identifier.id ORDER BY r.number DESC LIMIT 1)
    WHERE EXISTS (SELECT 1 FROM request r WHERE r.identifier = identifier.id);

    """

  private static let requests = """
    ALTER TABLE request ADD COLUMN is_dated INTEGER NOT NULL DEFAULT 0 CHECK (is_dated BETWEEN 0 AND 1);
    ALTER TABLE request ADD COLUMN poke INTEGER CHECK (poke = 5 OR poke = 10);
    CREATE INDEX request_dated ON request (earliest_at) WHERE state = 0 AND cause = 0 AND is_dated = 1;

    """

  private static let launches = """
    ALTER TABLE launch ADD COLUMN started_steady INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE launch ADD COLUMN is_simulated INTEGER NOT NULL DEFAULT 0 CHECK (is_simulated BETWEEN 0 AND 1);
    UPDATE launch SET started_steady = started_at;

    """

  /// A table beside `submission`, so that a submission that is not a poke needs no extra columns.
  private static let pokes = """
    CREATE TABLE poke (  -- goes with its submission's id
      submission INTEGER PRIMARY KEY REFERENCES submission (id) ON DELETE CASCADE,
      request INTEGER NOT NULL,  -- that it asked for or joined; perhaps not kept any more
      at INTEGER NOT NULL,
      priority INTEGER NOT NULL CHECK (priority = 5 OR priority = 10),
      principal TEXT NOT NULL
    ) STRICT;
    CREATE INDEX poke_request ON poke (request);  -- then by submission: the oldest first
    """
}
