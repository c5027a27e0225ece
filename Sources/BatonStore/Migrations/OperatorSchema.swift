internal import GRDB

/// The eleventh schema: who may operate the fleet from elsewhere, and the audit log.
enum OperatorSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: credentials + audit) }

  private static let credentials = """
    CREATE TABLE credential (
      id BLOB PRIMARY KEY CHECK (length(id) = 8),
      name TEXT NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),  -- SHA-256 of the secret
      scopes TEXT NOT NULL,  -- with commas between them
      patterns TEXT NOT NULL,  -- with commas between them; empty means every identifier
      ends_at INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      created_by TEXT NOT NULL,
      used_at INTEGER,
      is_revoked INTEGER NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
    ) STRICT, WITHOUT ROWID;

    """

  private static let audit = """
    CREATE TABLE audit (
      sequence INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      actor TEXT NOT NULL,
      credential BLOB,
      peer TEXT NOT NULL,
      method TEXT NOT NULL,
      object TEXT NOT NULL,
      outcome TEXT NOT NULL,
      detail TEXT NOT NULL,
      previous BLOB NOT NULL CHECK (length(previous) = 32),
      hash BLOB NOT NULL CHECK (length(hash) = 32)
    ) STRICT;
    CREATE TABLE audit_head (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      sequence INTEGER NOT NULL,  -- of the last row
      hash BLOB NOT NULL CHECK (length(hash) = 32),  -- of the last row
      kept INTEGER NOT NULL,  -- the first row that may not be deleted
      before BLOB NOT NULL CHECK (length(before) = 32)  -- the hash of the row before that one
    ) STRICT;
    INSERT INTO audit_head VALUES (1, 0, zeroblob(32), 1, zeroblob(32));
    CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
      BEGIN SELECT RAISE(ABORT, 'a row of the audit log is never changed'); END;
    CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
      WHEN OLD.sequence >= (SELECT kept FROM audit_head)
      BEGIN SELECT RAISE(ABORT, 'a row of the audit log is deleted only after its time'); END;
    """
}
