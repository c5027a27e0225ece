internal import BatonModel

/// One value of a question, or a list of values.
enum RowParameter {
  case one(Cell)
  case integers([Int64])
  case texts([String])
}

extension RowParameter: ExpressibleByIntegerLiteral {
  init(integerLiteral value: Int64) { self = .one(.integer(value)) }
  static func integer(_ value: Int64) -> Self { .one(.integer(value)) }
  static func integer(_ value: Int) -> Self { .one(.integer(Int64(value))) }
  static func text(_ value: String) -> Self { .one(.text(value)) }
}

/// A question of a loader, in SQL that every database understands which keeps a store. `?1` and so on stand for the
/// parameters. `column IN ?1` compares the column with the values of a list.
struct RowQuestion {
  /// The table of which the question asks for whole rows; `nil` if `sql` is a whole statement.
  var table: String?
  /// The statement, or the condition for the rows of `table`.
  var sql: String
  var parameters: [RowParameter]

  init(_ sql: String, _ parameters: RowParameter...) { (self.sql, self.parameters) = (sql, parameters) }

  init(rowsOf table: String, _ condition: String, _ parameters: [RowParameter]) {
    (self.table, sql, self.parameters) = (table, condition, parameters)
  }

  /// The text with `IN ?1` replaced by what compares with a list in the dialect, and every other `?1` by `parameter`.
  /// - Parameters:
  ///   - list: the comparison with the list of this number, such as `= ANY($1)`.
  ///   - parameter: the parameter of this number, such as `$1`.
  func text(list: (Int) -> String, parameter: (Int) -> String) -> String {
    var (text, rest) = ("", sql[...])
    while let mark = rest.firstIndex(of: "?") {
      let digits = rest[rest.index(after: mark)...].prefix(while: \.isNumber)
      guard let number = Int(digits), parameters.indices.contains(number - 1) else {
        preconditionFailure("a question has a parameter without a value: \(sql)")
      }
      let before = rest[..<mark]
      if before.hasSuffix("IN ") {
        text += before.dropLast(3) + list(number)
      } else {
        text += before + parameter(number)
      }
      rest = rest[digits.endIndex...]
    }
    return text + rest
  }
}

/// What a loader wants of its database in one exchange. The database does it in this order.
struct RowExchange {
  /// The rows to lock, in the order of `RowLock`.
  var locks: Set<RowLock> = []
  /// Requests to lock together with their identifiers, at most `limit` of each question, without those of which another
  /// group has locked the request or its identifier. A question is a condition and an order for `request r`, such as
  /// `r.state = 1 ORDER BY r.id`.
  var free: [(question: RowQuestion, limit: Int)] = []
  var questions: [RowQuestion] = []

  /// What the database answers.
  struct Answer {
    /// The rows that `locks` name, as they are since they are locked, for tables with a name (`RowLock.Table`).
    var locked: [RowLock.Table: [[Cell]]] = [:]
    /// For each question of `free` the rows that are locked now.
    var free: [[Free]] = []
    /// For each of `questions` the cells of its rows.
    var rows: [[[Cell]]] = []
  }

  /// A request that was free, and its identifier.
  struct Free {
    var request: [Cell]
    var identifier: [Cell]
  }
}

/// A database from which the rows of a group are locked and loaded. Everything happens in the transaction of the group.
protocol RowSource {
  var catalog: RowCatalog { get }
  /// Releases what the group has locked. Its transaction begins again with the next exchange.
  func beginAgain() throws
  /// - Returns: `nil` if another group has locked one of the rows, and this source does not wait. Nothing is locked
  ///   then. A source never waits for the rows of `free`.
  func answer(_ exchange: RowExchange) throws -> RowExchange.Answer?
}
