internal import GRDB

/// The seventeenth schema: when output came, for `baton logs --timestamps`. It is null for output that an earlier
/// version stored.
enum OutputTimeSchema {
  static func extend(_ db: Database) throws {
    try db.execute(sql: "ALTER TABLE output ADD COLUMN taken_at INTEGER")
  }
}
