internal import GRDB

/// The sixteenth schema: what operators look back at, and what is forgotten.
enum ReadingSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: hosts + definitions) }

  /// A host that was forgotten keeps its row, because ended launches name it. The history of its conditions has a row
  /// for each change of one condition. Launches of less than a second never enter the index of a host's launches.
  private static let hosts = """
    ALTER TABLE host ADD COLUMN gone_at INTEGER;  -- steady clock; null: it holds a lease, or lost it in an earlier version
    ALTER TABLE host ADD COLUMN is_forgotten INTEGER NOT NULL DEFAULT 0 CHECK (is_forgotten IN (0, 1));
    ALTER TABLE host ADD COLUMN changes INTEGER NOT NULL DEFAULT 0 CHECK (changes >= 0);  -- of its conditions, so far
    CREATE INDEX host_gone ON host (coalesce(gone_at, 0)) WHERE incarnation IS NULL AND is_forgotten = 0;
    CREATE TABLE condition_change (
      host INTEGER NOT NULL REFERENCES host (id),
      number INTEGER NOT NULL CHECK (number >= 1),  -- 1, 2 … for each host
      at INTEGER NOT NULL,
      steady INTEGER NOT NULL,
      condition TEXT NOT NULL,
      value TEXT,  -- null: unknown
      source TEXT NOT NULL,
      raw TEXT NOT NULL,
      PRIMARY KEY (host, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX condition_change_steady ON condition_change (steady);
    CREATE INDEX launch_of_host ON launch (host, started_at) WHERE ended_at - started_at >= 1000000000;

    """

  /// The versions of a definition are the texts that were applied for its pattern, the last ones of them.
  private static let definitions = """
    ALTER TABLE pattern ADD COLUMN retention INTEGER CHECK (retention >= 0);  -- of ended requests; null: the store's
    CREATE TABLE definition_version (
      pattern INTEGER NOT NULL REFERENCES pattern (id),
      number INTEGER NOT NULL CHECK (number >= 1),  -- 1, 2 … for each pattern
      definition INTEGER NOT NULL REFERENCES definition (id),
      applied_at INTEGER NOT NULL,
      applied_by TEXT NOT NULL,  -- empty: not known
      PRIMARY KEY (pattern, number)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO definition_version SELECT id, 1, definition, applied_at, '' FROM pattern WHERE definition IS NOT NULL;
    """
}
