/// The SQL text of one query of a verb. `Verbs` prepares it once per connection and finds the prepared statement by the
/// identity of this object, so a lookup does not hash the text.
final class Query: Sendable {
  let sql: String
  /// The text for a database elsewhere, whose planner chooses indexes by statistics.
  let elsewhere: String
  /// What the query changes; `nil` if it only reads.
  let change: QueryChange?
  /// Whether the query changes rows.
  let isWrite: Bool

  init(_ sql: String, elsewhere: String? = nil) {
    self.sql = sql
    self.elsewhere = elsewhere ?? sql
    change = QueryChange(sql)
    isWrite = change != nil
  }
}

/// What a query changes, as its text says it. Where a group has loaded its rows, only this is compared afterwards.
struct QueryChange: Equatable {
  enum Kind { case insert, update, delete }
  var kind: Kind
  var table: String
  /// The columns to which the query gives new values in rows that are there (`SET`).
  var columns: [String]

  /// Reads `INSERT INTO table`, `UPDATE table SET column = …` and `DELETE FROM table`; `nil` for other statements.
  init?(_ sql: String) {
    let words = sql.split(maxSplits: 3, whereSeparator: \.isWhitespace)
    switch words.first {
    case "INSERT": (kind, table) = (.insert, Self.name(words[2]))
    case "UPDATE": (kind, table) = (.update, Self.name(words[1]))
    case "DELETE": (kind, table) = (.delete, Self.name(words[2]))
    default: return nil
    }
    columns = Self.assigned(in: sql)
    // What is not read from the text would not be stored, so a text of another form ends the process here.
    precondition(
      (columns + [table]).allSatisfy { $0.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x5F } }
        && (kind != .update || !columns.isEmpty), "a query has another form than those that are known: \(sql)")
  }

  private static func name(_ word: Substring) -> String { String(word.prefix { $0 != "(" }) }

  /// The names before the equals signs after `SET`. Commas and `WHERE` within parentheses belong to values.
  private static func assigned(in sql: String) -> [String] {
    let words = sql.split(whereSeparator: \.isWhitespace)
    guard let set = words.firstIndex(of: "SET") else { return [] }
    var (assignments, depth) = ([""], 0)
    for character in words[(set + 1)...].joined(separator: " ") {
      depth += character == "(" ? 1 : character == ")" ? -1 : 0
      if depth == 0, character == "," {
        assignments.append("")
        continue
      }
      assignments[assignments.count - 1].append(character)
      if depth == 0, assignments[assignments.count - 1].hasSuffix(" WHERE ") { break }
    }
    return assignments.map { String($0.prefix { $0 != "=" }.split(separator: " ").first ?? "") }
  }
}
