internal import BatonPostgres

/// Stores what a group changes in the audit log.
///
/// Each row of the log continues the chain of hashes, so only one group at a time can add rows, until its commit.
/// Therefore the head of the log is locked last, after everything else that the group stores, and the server itself
/// continues the chain: no coordinator holds this lock while it computes, and the lock costs no exchange. The numbers
/// and hashes that the verbs gave the rows count for nothing here.
enum PostgresAudit {
  static func isChanged(by change: RowChange) -> Bool { change.table.name.hasPrefix("audit") }

  /// - Parameter changes: of the tables `audit` and `audit_head`.
  static func statements(for changes: [RowChange]) -> [PostgresStatement] {
    var entries: [RowChange] = []
    var others: [RowChange] = []
    for change in changes {
      switch change.kind {
      case .insert where change.table.name == "audit": entries.append(change)
      case .insert, .delete: others.append(change)
      case .update(let columns, let values):
        // Retention moves the beginning of the log, and `append` its end.
        let isOfEnd = { (column: Int) in ["sequence", "hash"].contains(change.table.columns[column]) }
        let rest = zip(columns, values).filter { !isOfEnd($0.0) }
        if rest.isEmpty { continue }
        var moved = change
        moved.kind = .update(rest.map(\.0), rest.map(\.1))
        others.append(moved)
      }
    }
    return [PostgresStatement("SELECT id FROM audit_head FOR NO KEY UPDATE")] + PostgresChanges.statements(for: others)
      + (entries.isEmpty ? [] : [append(entries)])
  }

  private static func append(_ entries: [RowChange]) -> PostgresStatement {
    let table = entries[0].table
    let rows = entries.compactMap { if case .insert(let row) = $0.kind { row } else { nil } }
    let columns = names.compactMap { table.columns.firstIndex(of: $0) }
    return PostgresStatement(text, columns.map { column in table.array(column, rows.lazy.map { $0[column] }) })
  }

  /// The columns of a row but for its place in the chain.
  private static let names = ["at", "actor", "credential", "peer", "method", "object", "outcome", "detail"]

  /// Continues the chain as `AuditEntry.hash` does, with the texts as they are stored.
  private static let text = """
    WITH RECURSIVE entry AS (
      SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[],
        $8::text[]) WITH ORDINALITY AS e (\(names.joined(separator: ", ")), n)
    ), link (n, sequence, previous, hash) AS (
      SELECT 0::bigint, sequence, hash, hash FROM audit_head
      UNION ALL
      SELECT e.n, l.sequence + 1, l.hash, sha256(
        l.hash || int8send(l.sequence + 1) || int8send(e.at) || int8send(CASE WHEN e.credential IS NULL THEN 0 ELSE 1 END)
          || int8send(length(coalesce(e.credential, ''))) || coalesce(e.credential, '')
          || \(["actor", "peer", "method", "object", "outcome", "detail"].map(bytes).joined(separator: " || ")))
      FROM link l JOIN entry e ON e.n = l.n + 1
    ), moved AS (
      UPDATE audit_head SET (sequence, hash) = (SELECT l.sequence, l.hash FROM link l ORDER BY l.n DESC LIMIT 1)
    )
    INSERT INTO audit (sequence, \(names.joined(separator: ", ")), previous, hash)
      SELECT l.sequence, \(names.map { "e.\($0)" }.joined(separator: ", ")), l.previous, l.hash
      FROM link l JOIN entry e ON e.n = l.n
    """

  private static func bytes(_ column: String) -> String {
    "int8send(octet_length(e.\(column))) || convert_to(e.\(column), 'UTF8')"
  }
}
