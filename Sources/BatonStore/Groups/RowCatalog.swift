internal import Synchronization

/// The tables, and the texts of the questions about them in the dialect of one database. Each text is made once.
final class RowCatalog: Sendable {
  let shapes: [TableShape]
  private let byName: [String: (shape: TableShape, columns: String)]
  private let made = Mutex<[String: String]>([:])
  private let translate: @Sendable (RowQuestion) -> String

  /// - Parameter translate: makes the text of a question in the dialect of the database.
  init(_ shapes: [TableShape], _ translate: @escaping @Sendable (RowQuestion) -> String) {
    (self.shapes, self.translate) = (shapes, translate)
    byName = Dictionary(
      uniqueKeysWithValues: shapes.map { ($0.name, ($0, $0.columns.map { "\"\($0)\"" }.joined(separator: ", "))) })
  }

  subscript(table: String) -> TableShape {
    guard let shape = byName[table]?.shape else { preconditionFailure("there is no table \(table)") }
    return shape
  }

  /// The columns of a table, for a question. Each is preceded by `prefix`, such as `r.`
  func columns(of table: String, prefix: String = "") -> String {
    if prefix.isEmpty { return byName[table]?.columns ?? "*" }
    return self[table].columns.map { "\(prefix)\"\($0)\"" }.joined(separator: ", ")
  }

  func text(of question: RowQuestion) -> String {
    text(named: question.sql) { translate(question) }
  }

  /// The text of this name, which is made at its first use.
  func text(named name: String, _ make: () -> String) -> String {
    made.withLock { made in
      if let known = made[name] { return known }
      let text = make()
      made[name] = text
      return text
    }
  }
}
