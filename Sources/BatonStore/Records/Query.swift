/// One SQL text of a verb, prepared once per connection. Compared by identity, so that finding the prepared statement
/// costs no hashing of text.
final class Query: Sendable {
  let sql: String

  init(_ sql: String) { self.sql = sql }
}
