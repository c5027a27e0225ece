internal import GRDB

/// The first schema. Invariants are enforced here and not only in code. SQLite refuses a second waiting or live request
/// of an identifier, a second open launch of a request, and a state without the columns that it needs.
///
/// Times are nanoseconds since 1970 UTC. The states of a request are 0 scheduled, 1 ready, 2 running, 3 succeeded, 4
/// failed, 5 cancelled. The causes of waiting are 0 notBefore, 1 rateLimited, 2 backingOff, 3 waitsForLiveRequest.
enum InitialSchema {
  static func create(_ db: Database, incarnation: String?) throws {
    try db.execute(sql: "PRAGMA application_id = \(Migrations.applicationID)")
    try db.execute(sql: fleet + definitions + requests + requestIndexes + launches + belongings)
    try db.execute(
      sql: "INSERT INTO store (id, incarnation) VALUES (1, coalesce(?, lower(hex(randomblob(16)))))",
      arguments: [incarnation])
  }

  private static let fleet = """
    CREATE TABLE store (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      incarnation TEXT NOT NULL,
      is_paused INTEGER NOT NULL DEFAULT 0 CHECK (is_paused IN (0, 1)),
      next_request INTEGER NOT NULL DEFAULT 1 CHECK (next_request >= 1)
    ) STRICT;
    CREATE TABLE host (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      incarnation TEXT,  -- that holds the lease
      is_draining INTEGER NOT NULL DEFAULT 0 CHECK (is_draining IN (0, 1)),
      last_seen_at INTEGER NOT NULL
    ) STRICT;

    """

  /// The row of a pattern contains the number of its requests in each state. The transaction that changes a request
  /// also changes these numbers, so limits and overviews never have to count rows.
  private static let definitions = """
    CREATE TABLE pattern (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      definition INTEGER REFERENCES definition (id),  -- the applied one; null after remove
      applied_at INTEGER,
      scheduled INTEGER NOT NULL DEFAULT 0 CHECK (scheduled >= 0),
      ready INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
      running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
      succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
      failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
      cancelled INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
      CHECK ((definition IS NULL) = (applied_at IS NULL))
    ) STRICT;
    CREATE TABLE definition (
      id INTEGER PRIMARY KEY,
      pattern INTEGER NOT NULL REFERENCES pattern (id),
      content TEXT NOT NULL UNIQUE  -- canonical JSON: equal definitions are one row
    ) STRICT;
    CREATE INDEX definition_pattern ON definition (pattern);
    CREATE TABLE identifier (  -- kept for ever: numbers of requests never come again
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE CHECK (length(CAST(name AS BLOB)) <= 255),
      last_number INTEGER NOT NULL CHECK (last_number >= 0),
      last_first_launch_at INTEGER  -- of refresh jobs, for their spacing
    ) STRICT;

    """

  private static let requests = """
    CREATE TABLE request (
      id INTEGER PRIMARY KEY,
      identifier INTEGER NOT NULL REFERENCES identifier (id),
      number INTEGER NOT NULL CHECK (number >= 1),
      definition INTEGER NOT NULL REFERENCES definition (id),
      priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
      state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
      cause INTEGER CHECK (cause BETWEEN 0 AND 3),
      eligible_at INTEGER NOT NULL,
      earliest_at INTEGER NOT NULL,
      submitted_at INTEGER NOT NULL,
      principal TEXT NOT NULL,
      launches INTEGER NOT NULL DEFAULT 0 CHECK (launches >= 0),
      host INTEGER,  -- of the last launch, which has the foreign key: a second one costs every start a savepoint
      started_at INTEGER,
      ended_at INTEGER,
      outcome TEXT,
      reason TEXT,
      failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
      losses INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0),
      strikes INTEGER NOT NULL DEFAULT 0 CHECK (strikes >= 0),
      cancelled_by TEXT,
      frozen_items INTEGER CHECK (frozen_items >= 0),
      trace_id BLOB NOT NULL CHECK (length(trace_id) = 16),
      span_id BLOB NOT NULL CHECK (length(span_id) = 8),
      is_sampled INTEGER NOT NULL CHECK (is_sampled IN (0, 1)),
      parent_span_id BLOB,
      CHECK ((state = 0) = (cause IS NOT NULL)),
      CHECK ((state >= 3) = (ended_at IS NOT NULL)),
      CHECK ((launches > 0) = (host IS NOT NULL AND started_at IS NOT NULL)),
      CHECK (state <> 2 OR launches > 0),
      CHECK (cause <> 3 OR launches = 0)
    ) STRICT;

    """

  private static let requestIndexes = """
    CREATE UNIQUE INDEX request_number ON request (identifier, number);
    CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1;
    CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2;
    CREATE INDEX request_ready ON request (definition, priority) WHERE state = 1;  -- then by id: the oldest first
    CREATE INDEX request_eligible ON request (eligible_at) WHERE state = 0;
    CREATE INDEX request_scheduled ON request (state) WHERE state = 0;  -- for lists, by id; as is the next
    CREATE INDEX request_unsuccessful ON request (state) WHERE state >= 4;
    CREATE INDEX request_host ON request (host) WHERE host IS NOT NULL;
    CREATE INDEX request_ended ON request (ended_at) WHERE ended_at IS NOT NULL;

    """

  private static let launches = """
    CREATE TABLE launch (
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      number INTEGER NOT NULL CHECK (number >= 1),
      host INTEGER NOT NULL REFERENCES host (id),
      incarnation TEXT NOT NULL,
      gpus TEXT NOT NULL,
      span_id BLOB NOT NULL CHECK (length(span_id) = 8),
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      -- Not `IN`, which builds a table each time it is checked.
      outcome TEXT CHECK (outcome = 'finished' OR outcome = 'failed' OR outcome = 'expired' OR outcome = 'lost'),
      reason TEXT,
      is_graceful INTEGER NOT NULL DEFAULT 1 CHECK (is_graceful IN (0, 1)),
      first_batch INTEGER NOT NULL CHECK (first_batch >= 0),
      batches INTEGER NOT NULL DEFAULT 0 CHECK (batches >= 0),  -- written when it ends
      expiring_reason TEXT,
      expiring_detail TEXT,
      expiring_since INTEGER,
      PRIMARY KEY (request, number),
      CHECK ((ended_at IS NULL) = (outcome IS NULL)),
      CHECK ((expiring_reason IS NULL) = (expiring_since IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX launch_open ON launch (request) WHERE ended_at IS NULL;
    CREATE INDEX launch_open_on_host ON launch (host) WHERE ended_at IS NULL;

    """

  /// Data of a request that is large or rare is kept in tables of its own, so that the start and the end of a launch do
  /// not rewrite it.
  private static let belongings = """
    CREATE TABLE progress (
      request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
      batches INTEGER NOT NULL CHECK (batches >= 0),
      completed_units INTEGER NOT NULL,
      total_units INTEGER,
      reaches_end INTEGER NOT NULL CHECK (reaches_end IN (0, 1)),
      subtitle TEXT,
      cursor BLOB
    ) STRICT;
    CREATE TABLE payload (
      request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
      bytes BLOB NOT NULL CHECK (length(bytes) <= 65536)
    ) STRICT;
    CREATE TABLE event (
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      at INTEGER NOT NULL,
      name TEXT NOT NULL,
      detail TEXT,
      PRIMARY KEY (request, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE item_page (
      id INTEGER PRIMARY KEY,
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      start INTEGER NOT NULL CHECK (start >= 0),
      count INTEGER NOT NULL CHECK (count BETWEEN 0 AND 1000),
      launch INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      UNIQUE (request, start)
    ) STRICT;
    CREATE TABLE output (
      request INTEGER NOT NULL,
      launch INTEGER NOT NULL,
      start INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (request, launch, start),
      FOREIGN KEY (request, launch) REFERENCES launch (request, number) ON DELETE CASCADE
    ) STRICT;
    CREATE TABLE submission (  -- outlives its request: a retry gets the answer that was given
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL UNIQUE CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 64),
      at INTEGER NOT NULL,
      request INTEGER NOT NULL,
      identifier INTEGER NOT NULL REFERENCES identifier (id),
      number INTEGER NOT NULL,
      definition INTEGER NOT NULL,
      priority INTEGER NOT NULL,
      state INTEGER NOT NULL,
      eligible_at INTEGER NOT NULL,
      replaced INTEGER NOT NULL
    ) STRICT;
    """
}
