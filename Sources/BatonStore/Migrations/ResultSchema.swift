internal import GRDB

/// The twenty-fifth schema: the results of requests, which those that wait for them get.
enum ResultSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: text) }

  /// A row has the last result of a request or of one of its shards, and is written with a checkpoint. It counts once
  /// the request has succeeded. `dependency.position` is the place in `after`; `ended_as` is the state in which the
  /// awaited request ended when the wait was over.
  private static let text = """
    CREATE TABLE result (
      request INTEGER PRIMARY KEY REFERENCES request (id) ON DELETE CASCADE,
      head INTEGER NOT NULL,  -- the request of which `request` is a shard, or the request itself
      shard INTEGER NOT NULL CHECK (shard >= 0),
      bytes BLOB NOT NULL CHECK (length(bytes) BETWEEN 1 AND 65536)
    ) STRICT;
    CREATE UNIQUE INDEX result_head ON result (head, shard);
    ALTER TABLE dependency ADD COLUMN position INTEGER NOT NULL DEFAULT 0 CHECK (position >= 0);
    ALTER TABLE dependency ADD COLUMN ended_as INTEGER CHECK (ended_as BETWEEN 3 AND 5);
    """
}
