internal import GRDB

/// The twentieth schema, for what follows a failure: how many launches in a row have failed without committing a batch
/// (`retry.skipBatchAfter`), and how many requests came before one, each of which was submitted by the end of the one
/// before (`onSuccess`, `onFailure`).
enum RetrySchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns) }

  private static let columns = """
    ALTER TABLE request ADD COLUMN barren_failures INTEGER NOT NULL DEFAULT 0 CHECK (barren_failures >= 0);
    ALTER TABLE request ADD COLUMN followed INTEGER NOT NULL DEFAULT 0 CHECK (followed >= 0);
    """
}
