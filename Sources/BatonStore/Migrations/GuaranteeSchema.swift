internal import GRDB

/// The fourth schema: the epoch that decides which coordinator may write (promise P11), and the number of commits that
/// a receipt contains (promise P12).
enum GuaranteeSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  private static let columns = """
    ALTER TABLE store ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0);  -- raised at each start
    ALTER TABLE store ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0 CHECK (sequence >= 0);  -- raised by each commit
    ALTER TABLE store ADD COLUMN former_incarnation TEXT;  -- before it was found to have gone backwards
    CREATE TABLE tenure (  -- starts of coordinators, in order
      id INTEGER PRIMARY KEY,
      name INTEGER NOT NULL UNIQUE,  -- drawn: a copy that is started has another
      last INTEGER  -- how far the store was when the next one began; null for the present one
    ) STRICT;
    """
}
