/// A value of a parameter. It is sent in PostgreSQL's binary format with the type that its case names, so that the
/// server neither parses nor guesses. (An untyped parameter of a comparison would take the type of the other side.)
package enum PostgresValue: Hashable, Sendable {
  /// Null of a type that the server infers. The same SQL with a value in this place is another prepared statement,
  /// because its types differ; `optional` gives nulls a type, and avoids this.
  case null
  /// Null of this type.
  case nullOf(PostgresType)
  case integer(Int64)
  /// The server refuses U+0000 in a text (SQLSTATE 22021), so U+FFFD is sent in its place.
  case text(String)
  case blob([UInt8])
  /// One array parameter, such as for `unnest($1)`. An empty array is an empty array, and not null.
  case integers([Int64?])
  case texts([String?])
  case blobs([[UInt8]?])

  package static func optional(_ value: Int64?) -> PostgresValue { value.map { .integer($0) } ?? .nullOf(.integer) }
  package static func optional(_ value: String?) -> PostgresValue { value.map { .text($0) } ?? .nullOf(.text) }
  package static func optional(_ value: [UInt8]?) -> PostgresValue { value.map { .blob($0) } ?? .nullOf(.blob) }

  /// The type under which the value is sent.
  package var type: PostgresType {
    switch self {
    case .null: .inferred
    case .nullOf(let type): type
    case .integer: .integer
    case .text: .text
    case .blob: .blob
    case .integers: .integers
    case .texts: .texts
    case .blobs: .blobs
    }
  }
}

/// One SQL statement with its parameters.
package struct PostgresStatement: Hashable, Sendable {
  /// One statement, with `$1` … `$65535` in the places of its values.
  package var sql: String
  /// The value of `$1`, of `$2` and so on.
  package var values: [PostgresValue]

  package init(_ sql: String, _ values: [PostgresValue] = []) {
    self.sql = sql
    self.values = values
  }
}
