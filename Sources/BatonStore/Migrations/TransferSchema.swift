internal import GRDB

/// The nineteenth schema: the transfers of requests, and the hosts that carry them out.
enum TransferSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: text) }

  /// The states of a transfer are 0 not ended, 1 done, 2 failed, 3 cancelled. `transfer_place` has no foreign key to
  /// its request: the row stays until the host has promised to remove the request's files.
  private static let text = """
    ALTER TABLE request ADD COLUMN files_on INTEGER;  -- the host of its transfers; 0: any; null: it has none
    CREATE TABLE transfer_place (
      request INTEGER PRIMARY KEY,
      host INTEGER NOT NULL,
      launches INTEGER NOT NULL DEFAULT 0 CHECK (launches >= 0),  -- that its transfers asked for since it was quiet
      last_at INTEGER  -- when the last of these was due; steady clock
    ) STRICT;
    CREATE INDEX transfer_place_host ON transfer_place (host);
    CREATE TABLE transfer (
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      number INTEGER NOT NULL CHECK (number >= 0),  -- from 0
      content TEXT NOT NULL,  -- JSON
      part TEXT NOT NULL,  -- its group
      state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
      status TEXT,  -- JSON: how it ended
      ended_on INTEGER,  -- the host that had it then
      is_cancelling INTEGER NOT NULL DEFAULT 0 CHECK (is_cancelling IN (0, 1)),
      told INTEGER,  -- the last launch that was told of the end
      first_told INTEGER,  -- the first one, which its end started
      is_acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (is_acknowledged IN (0, 1)),
      PRIMARY KEY (request, number),
      CHECK ((state = 0) = (status IS NULL)),
      CHECK ((state = 0) = (ended_on IS NULL)),
      CHECK (told IS NULL OR state > 0),
      CHECK ((told IS NULL) = (first_told IS NULL)),
      CHECK (is_acknowledged = 0 OR told IS NOT NULL)
    ) STRICT, WITHOUT ROWID;
    """
}
