internal import GRDB

/// The schema after the guarantees: what a store knows of its workers, so that no other process is taken for one of
/// them, and how much they have sent.
enum WorkerSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  /// Pages of earlier versions count as empty: their bytes are not known without reading them all.
  private static let columns = """
    ALTER TABLE host ADD COLUMN secret BLOB CHECK (length(secret) = 32);  -- SHA-256 of what its worker says
    ALTER TABLE item_page ADD COLUMN bytes_so_far INTEGER NOT NULL DEFAULT 0;  -- with the pages before it
    """
}
