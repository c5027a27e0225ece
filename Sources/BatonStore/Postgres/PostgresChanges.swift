internal import BatonPostgres
internal import Synchronization

/// The statements that store what a group has changed: one for all rows of a table that change alike.
enum PostgresChanges {
  /// The statements of a group, of which those for the audit log come last.
  static func statements(ofGroup changes: [RowChange]) -> [PostgresStatement] {
    let audit = changes.filter(PostgresAudit.isChanged)
    if audit.isEmpty { return statements(for: changes) }
    return statements(for: changes.filter { !PostgresAudit.isChanged(by: $0) }) + PostgresAudit.statements(for: audit)
  }

  /// The statements that store the rows as they are.
  /// - Parameter changes: in an order in which they can be stored one by one. Rows of one statement are of one rank, so
  ///   none of them leaves a unique index that another one enters.
  static func statements(for changes: [RowChange]) -> [PostgresStatement] {
    var alike: [(Form, [RowChange])] = []
    var positions: [Form: Int] = [:]
    for change in changes {
      let form = Form(change)
      if let position = positions[form] {
        alike[position].1.append(change)
      } else {
        positions[form] = alike.count
        alike.append((form, [change]))
      }
    }
    return alike.map { form, rows in Template(form: form, isOneRow: rows.count == 1).statement(for: rows) }
  }

  /// The texts of the statements, which are made once. There are few, because verbs change the same columns again and
  /// again.
  private static let texts = Mutex<[Template: String]>([:])

  /// What rows have in common that one statement changes.
  fileprivate struct Form: Hashable {
    enum Kind: Hashable {
      case insert
      /// The positions of the columns that change.
      case update([Int])
      case delete
    }
    var table: TableShape
    var kind: Kind
    var rank: Int

    init(_ change: RowChange) {
      (table, rank) = (change.table, change.rank)
      kind =
        switch change.kind {
        case .insert: .insert
        case .update(let columns, _): .update(columns)
        case .delete: .delete
        }
    }
  }

  /// What the text of a statement depends on. Its values are arrays, with an element for each row. A statement for one
  /// row has plain values, which cost the server less: many groups change only one row of a table.
  fileprivate struct Template: Hashable {
    var form: Form
    var isOneRow: Bool

    private var table: TableShape { form.table }

    func statement(for changes: [RowChange]) -> PostgresStatement {
      let text = PostgresChanges.texts.withLock { texts in
        if let known = texts[self] { return known }
        let text = self.text
        texts[self] = text
        return text
      }
      return PostgresStatement(text, values(of: changes))
    }

    private func values(of changes: [RowChange]) -> [PostgresValue] {
      switch form.kind {
      case .insert:
        let rows = table.inOrder(changes.compactMap { if case .insert(let row) = $0.kind { row } else { nil } })
        return table.columns.indices.map { column in value(of: column, rows.lazy.map { $0[column] }) }
      case .update(let columns):
        return keys(of: changes)
          + columns.enumerated().map { position, column in
            // All have the same columns, in the same order.
            value(
              of: column,
              changes.lazy.map { if case .update(_, let values) = $0.kind { values[position] } else { .null } })
          }
      case .delete: return keys(of: changes)
      }
    }

    private func keys(of changes: [RowChange]) -> [PostgresValue] {
      table.key.enumerated().map { position, column in value(of: column, changes.lazy.map { $0.key[position] }) }
    }

    private func value(of column: Int, _ cells: some Sequence<Cell>) -> PostgresValue {
      let all = table.array(column, cells)
      return isOneRow ? all.first : all
    }

    private var text: String {
      switch form.kind {
      case .insert:
        let columns = Array(table.columns.indices)
        let rows = isOneRow ? "VALUES (\(parameters(columns.count)))" : "SELECT * FROM \(unnested(columns))"
        return "INSERT INTO \(table.name) (\(names(columns))) \(rows)\(conflict)"
      case .update(let columns):
        if isOneRow {
          let set = columns.enumerated().map { "\(name($0.element)) = $\(table.key.count + $0.offset + 1)" }
          return "UPDATE \(table.name) SET \(set.joined(separator: ", ")) WHERE \(hasKey)"
        }
        let set = columns.map { "\(name($0)) = v.\(name($0))" }.joined(separator: ", ")
        let join = table.key.map { "t.\(name($0)) = v.\"key_\(table.columns[$0])\"" }.joined(separator: " AND ")
        let aliases =
          (table.key.map { "\"key_\(table.columns[$0])\"" } + columns.map(name)).joined(separator: ", ")
        return
          "UPDATE \(table.name) AS t SET \(set) FROM \(unnested(table.key + columns)) AS v (\(aliases)) WHERE \(join)"
      case .delete:
        if isOneRow { return "DELETE FROM \(table.name) WHERE \(hasKey)" }
        let join = table.key.map { "t.\(name($0)) = v.\(name($0))" }.joined(separator: " AND ")
        return "DELETE FROM \(table.name) AS t USING \(unnested(table.key)) AS v (\(names(table.key))) WHERE \(join)"
      }
    }

    /// What becomes of a row whose key is there.
    private var conflict: String {
      switch table.existing {
      case .conflicts: ""
      case .isReplaced:
        " ON CONFLICT (\(names(table.key))) DO UPDATE SET "
          + table.columns.indices.filter { !table.key.contains($0) }.map { "\(name($0)) = excluded.\(name($0))" }
          .joined(separator: ", ")
      case .isKept: " ON CONFLICT DO NOTHING"
      }
    }

    /// The condition for one row. The values of its key come first.
    private var hasKey: String {
      table.key.enumerated().map { "\(name($0.element)) = $\($0.offset + 1)" }.joined(separator: " AND ")
    }

    private func name(_ column: Int) -> String { "\"\(table.columns[column])\"" }
    private func names(_ columns: [Int]) -> String { columns.map(name).joined(separator: ", ") }
    private func parameters(_ count: Int) -> String { (1...count).map { "$\($0)" }.joined(separator: ", ") }

    private func unnested(_ columns: [Int]) -> String {
      let arrays = columns.enumerated().map { "$\($0.offset + 1)::\(table.types[$0.element].arrayName)" }
      return "unnest(\(arrays.joined(separator: ", ")))"
    }
  }
}

extension ColumnType {
  fileprivate var arrayName: String {
    switch self {
    case .integer: "bigint[]"
    case .text: "text[]"
    case .blob: "bytea[]"
    }
  }
}

extension TableShape {
  /// New rows in the order of the texts that have to be unique. Two groups that insert the same texts wait for each
  /// other at the first of them, and never crosswise.
  fileprivate func inOrder(_ rows: [[Cell]]) -> [[Cell]] {
    let name: String? =
      switch self.name {
      case "identifier", "pattern": "name"
      case "submission": "key"
      default: nil
      }
    guard let column = columns.firstIndex(where: { $0 == name }) else { return rows }
    return rows.sorted { $0[column].string.utf8.lexicographicallyPrecedes($1[column].string.utf8) }
  }

  func array(_ column: Int, _ cells: some Sequence<Cell>) -> PostgresValue {
    switch types[column] {
    case .integer: .integers(cells.map { if case .integer(let value) = $0 { value } else { nil } })
    case .text: .texts(cells.map { if case .text(let value) = $0 { value } else { nil } })
    case .blob: .blobs(cells.map { if case .blob(let value) = $0 { value } else { nil } })
    }
  }
}

extension PostgresValue {
  /// The first element of an array.
  fileprivate var first: PostgresValue {
    switch self {
    case .integers(let values): .optional(values.first ?? nil)
    case .texts(let values): .optional(values.first ?? nil)
    case .blobs(let values): .optional(values.first ?? nil)
    case .null, .nullOf, .integer, .text, .blob: self
    }
  }
}
