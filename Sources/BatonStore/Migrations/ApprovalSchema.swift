internal import GRDB

/// The twelfth schema: invitations whose host an operator has to approve.
enum ApprovalSchema {
  static func extend(_ db: Database) throws {
    try db.execute(
      sql: """
        ALTER TABLE invitation ADD COLUMN needs_approval INTEGER NOT NULL DEFAULT 0 CHECK (needs_approval IN (0, 1));
        ALTER TABLE invitation ADD COLUMN approved_key BLOB CHECK (length(approved_key) = 32);
        """)
  }
}
