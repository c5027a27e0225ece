internal import Synchronization

/// The tables, and the texts of the questions about them in the dialect of one database. Each text is made once.
final class RowCatalog: Sendable {
  let shapes: [TableShape]
  private let byName: [String: (shape: TableShape, columns: String)]
  private let made = Mutex<[Name: String]>([:])
  /// Makes the text of a question, or of its condition, in the dialect of the database.
  let translate: @Sendable (RowQuestion) -> String

  /// - Parameter translate: see `translate`.
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
    text(named: Name(subject: question.table ?? "", text: question.sql)) {
      let text = translate(question)
      return question.table.map { "SELECT \(columns(of: $0)) FROM \($0) WHERE \(text)" } ?? text
    }
  }

  /// What a text is found by. It is much shorter than the text, which names all columns of a table.
  struct Name: Hashable {
    var subject: String
    var text: String
  }

  /// The text of this name, which is made at its first use.
  func text(named name: Name, _ make: () -> String) -> String {
    made.withLock { made in
      if let known = made[name] { return known }
      let text = make()
      made[name] = text
      return text
    }
  }
}
