/// The SQL text of one query of a verb. `Verbs` prepares it once per connection and finds the prepared statement by the
/// identity of this object, so a lookup does not hash the text.
final class Query: Sendable {
  let sql: String
  /// The text for a database elsewhere, whose planner chooses indexes by statistics.
  let elsewhere: String
  /// Whether the query changes rows.
  let isWrite: Bool

  init(_ sql: String, elsewhere: String? = nil) {
    self.sql = sql
    self.elsewhere = elsewhere ?? sql
    isWrite = ["INSERT", "UPDATE", "DELETE"].contains { sql.hasPrefix($0) }
  }
}
