internal import GRDB

/// The twenty-first schema: flows. A flow is a set of requests that were submitted together; its number is that of the
/// request that came first. A request that waits for others is scheduled with the cause 3 and 2^63 - 1 in
/// `eligible_at`, as one that waits for the live request of its identifier, so no time makes it ready.
enum FlowSchema {
  static func extend(_ db: Database) throws { try db.execute(sql: columns + dependencies) }

  private static let columns = """
    ALTER TABLE request ADD COLUMN flow INTEGER;  -- null: in no flow
    ALTER TABLE request ADD COLUMN waits_for INTEGER NOT NULL DEFAULT 0 CHECK (waits_for >= 0);  -- open dependencies
    ALTER TABLE request ADD COLUMN is_awaited INTEGER NOT NULL DEFAULT 0 CHECK (is_awaited IN (0, 1));
    CREATE INDEX request_flow ON request (flow) WHERE flow IS NOT NULL;

    """

  /// That a request waits for the end of another one. `ending` is 0 for success, 1 for failure and 2 for any; `state`
  /// is 0 while the other one has not ended, 1 if it has ended as asked, and 2 if it has ended otherwise.
  private static let dependencies = """
    CREATE TABLE dependency (
      request INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
      awaited INTEGER NOT NULL,  -- it may not be kept any more
      ending INTEGER NOT NULL CHECK (ending BETWEEN 0 AND 2),
      state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2),
      trace_id BLOB NOT NULL CHECK (length(trace_id) = 16),  -- of the one that is awaited
      span_id BLOB NOT NULL CHECK (length(span_id) = 8),
      PRIMARY KEY (request, awaited),
      CHECK (request <> awaited)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX dependency_awaited ON dependency (awaited);
    """
}
