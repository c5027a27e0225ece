internal import GRDB

/// The tenth schema: who may join the fleet as which host, and the certificates that were given to hosts.
enum IdentitySchema {
  static func extend(_ db: Database) throws { try db.execute(sql: invitations + certificates) }

  private static let invitations = """
    CREATE TABLE invitation (
      id BLOB PRIMARY KEY CHECK (length(id) = 8),
      host TEXT NOT NULL,
      digest BLOB NOT NULL CHECK (length(digest) = 32),  -- SHA-256 of the secret
      ends_at INTEGER NOT NULL,
      principal TEXT NOT NULL,  -- who invited the host
      serial BLOB,  -- the certificate that the host got; null until it has joined
      joined_at INTEGER,
      CHECK ((serial IS NULL) = (joined_at IS NULL))
    ) STRICT, WITHOUT ROWID;

    """

  private static let certificates = """
    CREATE TABLE certificate (
      serial BLOB PRIMARY KEY,
      host TEXT NOT NULL,
      key BLOB NOT NULL CHECK (length(key) = 32),  -- SHA-256 of the public key
      der BLOB NOT NULL,
      ends_at INTEGER NOT NULL,
      is_revoked INTEGER NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
    ) STRICT, WITHOUT ROWID;
    """
}
