internal import GRDB

/// The seventh schema: the hash of each worker's secret, so that no other process can take the worker's name, and the
/// number of bytes of items that a launch has sent.
enum WorkerSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  /// Pages of items that an earlier version stored count as 0 bytes, because their size is not known without reading
  /// them all.
  private static let columns = """
    ALTER TABLE host ADD COLUMN secret BLOB CHECK (length(secret) = 32);  -- SHA-256 of what its worker says
    ALTER TABLE item_page ADD COLUMN bytes_so_far INTEGER NOT NULL DEFAULT 0;  -- with the pages before it
    """
}
