internal import GRDB

/// The fourth schema: whose turn it is to write, and how far the store is.
enum GuaranteeSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  private static let columns = """
    ALTER TABLE store ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0);  -- raised at each start
    ALTER TABLE store ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0 CHECK (sequence >= 0);  -- raised by each commit
    -- What it was called before it was found to have gone backwards, and how far it was then.
    ALTER TABLE store ADD COLUMN former_incarnation TEXT;
    ALTER TABLE store ADD COLUMN former_sequence INTEGER
      CHECK ((former_sequence IS NULL) = (former_incarnation IS NULL));
    """
}
