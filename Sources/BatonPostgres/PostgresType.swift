/// A type of PostgreSQL, by its OID (pg_type.oid). The OIDs of the built-in types are the same on every server.
package struct PostgresType: Hashable, Sendable, CustomStringConvertible {
  package var oid: UInt32

  package init(oid: UInt32) { self.oid = oid }

  /// The server infers the type from the statement.
  package static let inferred = PostgresType(oid: 0)
  /// bigint
  package static let integer = PostgresType(oid: 20)
  package static let text = PostgresType(oid: 25)
  /// bytea
  package static let blob = PostgresType(oid: 17)
  /// bigint[]
  package static let integers = PostgresType(oid: 1016)
  /// text[]
  package static let texts = PostgresType(oid: 1009)
  /// bytea[]
  package static let blobs = PostgresType(oid: 1001)

  /// The name that SQL has for the type, for error messages.
  package var description: String { Self.names[oid] ?? "with the OID \(oid)" }

  private static let names: [UInt32: String] = [
    16: "boolean", 17: "bytea", 18: "\"char\"", 19: "name", 20: "bigint", 21: "smallint", 23: "integer", 25: "text",
    26: "oid", 114: "json", 700: "real", 701: "double precision", 1_001: "bytea[]", 1_009: "text[]",
    1_016: "bigint[]", 1_042: "character", 1_043: "character varying", 1_114: "timestamp",
    1_184: "timestamp with time zone", 1_186: "interval", 1_700: "numeric", 2_278: "void", 2_950: "uuid",
    3_802: "jsonb",
  ]
}
