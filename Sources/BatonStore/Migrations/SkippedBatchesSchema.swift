internal import GRDB

/// The fifth schema: which batches an operator skipped, so that they are not counted as done, and which definition a
/// launch ran under if its request has been given another definition since.
enum SkippedBatchesSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  private static let columns = """
    ALTER TABLE progress ADD COLUMN skipped TEXT;  -- indexes of batches in order, with commas between; null for none
    ALTER TABLE progress ADD COLUMN skipped_units INTEGER NOT NULL DEFAULT 0 CHECK (skipped_units >= 0);
    ALTER TABLE launch ADD COLUMN definition INTEGER;  -- null: that of its request
    """
}
