internal import GRDB

/// The sixth schema: when a person used a definition last, which decides whose requests go first; the interval at which
/// the refreshes of an identifier come; and which submissions and pokes joined a request.
enum UseSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns + joining) }

  /// `used_at` is on the steady clock, with a precision of some minutes.
  private static let columns = """
    ALTER TABLE pattern ADD COLUMN used_at INTEGER;  -- null: no person has used it
    ALTER TABLE identifier ADD COLUMN usual_interval INTEGER CHECK (usual_interval >= 0);  -- nanoseconds

    """

  /// A row is kept only for what the request's own row does not say: a request of a single submission that is not a
  /// poke has no row here.
  private static let joining = """
    CREATE TABLE joining (
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      position INTEGER NOT NULL CHECK (position >= 1),  -- from 1; only the last ones are kept
      poke TEXT,  -- the client's id; null for a submission that replaced another one
      trace_id BLOB CHECK (length(trace_id) = 16),  -- of the submitter's span; null if it had none
      span_id BLOB CHECK (length(span_id) = 8),
      PRIMARY KEY (request, position),
      CHECK ((trace_id IS NULL) = (span_id IS NULL))
    ) STRICT, WITHOUT ROWID;
    """
}
