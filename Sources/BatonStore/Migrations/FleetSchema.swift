internal import GRDB

/// The thirteenth schema: what operators see of a fleet with several coordinators, whichever of them they ask.
enum FleetSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: text) }

  private static let text = """
    ALTER TABLE coordinator ADD COLUMN name TEXT NOT NULL DEFAULT '';  -- of its machine; empty until it listens
    ALTER TABLE coordinator ADD COLUMN version TEXT NOT NULL DEFAULT '';
    ALTER TABLE coordinator ADD COLUMN operators TEXT;  -- HOST:PORT, as `address` is for workers
    ALTER TABLE coordinator ADD COLUMN https TEXT;
    ALTER TABLE coordinator ADD COLUMN ended_at INTEGER;  -- steady clock, as the steward stored it last
    ALTER TABLE launch ADD COLUMN shown TEXT;  -- JSON: title and progress since the last checkpoint, for other coordinators
    CREATE TABLE waiting_host (
      invitation BLOB NOT NULL,
      key BLOB NOT NULL CHECK (length(key) = 32),
      number TEXT NOT NULL,
      peer TEXT NOT NULL,
      asked_at INTEGER NOT NULL,  -- steady clock
      PRIMARY KEY (invitation, key)
    ) STRICT, WITHOUT ROWID;
    """
}
