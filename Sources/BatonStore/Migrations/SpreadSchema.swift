internal import GRDB

/// The fifteenth schema: requests that are divided into shards.
///
/// A shard is a row of `request`, so everything that the schema and the verbs guarantee of a request holds for each
/// shard: one open launch, its own launch numbers, its own checkpoint in `progress`. The request itself is its shard 0;
/// the rows of the others name it as their `head`. A request that is not spread has no shard but itself.
///
/// A shard that waits for a lane, and a request whose own shard has ended while others have not, are scheduled with the
/// cause 2 and 2^63 - 1 in `eligible_at`, so no time makes them ready.
enum SpreadSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns + indexes + spread) }

  private static let columns = """
    ALTER TABLE request ADD COLUMN head INTEGER REFERENCES request (id) ON DELETE CASCADE;  -- null: not another's shard
    ALTER TABLE request ADD COLUMN shard INTEGER NOT NULL DEFAULT 0 CHECK ((shard > 0) = (head IS NOT NULL));
    ALTER TABLE request ADD COLUMN first_unit INTEGER CHECK (first_unit >= 0);  -- null: not divided
    ALTER TABLE request ADD COLUMN end_unit INTEGER CHECK (end_unit >= first_unit);  -- null: no range of units
    ALTER TABLE request ADD COLUMN shard_state INTEGER  -- how the request's own shard ended
      CHECK (shard_state IS NULL OR state = 0 OR state >= 3) CHECK (shard_state BETWEEN 3 AND 5);

    """

  /// What an identifier has one of, and numbers, are requests and not their shards.
  private static let indexes = """
    DROP INDEX request_number;
    DROP INDEX request_waiting;
    DROP INDEX request_live;
    CREATE UNIQUE INDEX request_number ON request (identifier, number, shard);
    CREATE UNIQUE INDEX request_waiting ON request (identifier) WHERE launches = 0 AND state <= 1 AND head IS NULL;
    CREATE UNIQUE INDEX request_live ON request (identifier) WHERE launches > 0 AND state <= 2 AND head IS NULL;
    CREATE UNIQUE INDEX request_shard ON request (head, shard) WHERE head IS NOT NULL;
    CREATE INDEX request_open_shard ON request (head) WHERE head IS NOT NULL AND state <= 2;

    """

  /// The shards of a request in numbers, so that the end of one does not count the others. Only a transaction that has
  /// locked the identifier of the request changes this row.
  private static let spread = """
    CREATE TABLE spread (
      request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
      lanes INTEGER NOT NULL CHECK (lanes >= 1),
      shards INTEGER NOT NULL CHECK (shards >= 0),  -- made so far
      open INTEGER NOT NULL CHECK (open BETWEEN 0 AND shards),  -- not ended
      parked INTEGER NOT NULL CHECK (parked BETWEEN 0 AND open),  -- of these, without a lane
      running INTEGER NOT NULL CHECK (running BETWEEN 0 AND open),  -- of these, with an open launch
      launches INTEGER NOT NULL CHECK (launches >= 0),  -- of all shards
      failed INTEGER NOT NULL CHECK (failed >= 0),
      cancelled INTEGER NOT NULL CHECK (cancelled >= 0),
      next_unit INTEGER NOT NULL CHECK (next_unit >= 0),  -- where the next shard begins
      end_unit INTEGER CHECK (end_unit >= next_unit),  -- null until it is known how much there is
      size INTEGER NOT NULL CHECK (size >= 1),  -- of the next shard
      is_stopping INTEGER NOT NULL DEFAULT 0 CHECK (is_stopping IN (0, 1)),  -- no shard is made any more
      is_cancelled INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelled <= is_stopping),  -- a person has cancelled the request
      failed_shards TEXT,  -- their numbers with commas between, the first ones
      failure TEXT  -- why the first one failed
    ) STRICT;
    ALTER TABLE completion ADD COLUMN shards INTEGER;  -- null: not divided
    """
}
