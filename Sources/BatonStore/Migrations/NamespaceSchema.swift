internal import GRDB

/// The eighteenth schema: what each coordinator has counted for each namespace. The rows of a coordinator are what its
/// rows of `share` add up to; they are kept so that no decision adds up the definitions of a namespace. A store without
/// namespaces has none.
enum NamespaceSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: text) }

  /// The numbers of one coordinator may be negative, as those of its shares may.
  private static let text = """
    CREATE TABLE namespace_share (
      namespace TEXT NOT NULL,  -- the prefix; empty for what belongs to no namespace
      coordinator INTEGER NOT NULL,
      pending INTEGER NOT NULL,
      running INTEGER NOT NULL,
      slots INTEGER NOT NULL,  -- of the launches that run
      gpus INTEGER NOT NULL,
      use_day INTEGER NOT NULL,  -- days since 1970, on the steady clock
      used INTEGER NOT NULL CHECK (used >= 0),  -- nanoseconds of launches on that day
      served INTEGER NOT NULL CHECK (served >= 0),  -- slot-milliseconds of ended launches, as they count at served_at
      served_at INTEGER NOT NULL,  -- steady clock
      PRIMARY KEY (namespace, coordinator)
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE coordinator ADD COLUMN namespaces TEXT;  -- digest of its list; null: it has none
    """
}
