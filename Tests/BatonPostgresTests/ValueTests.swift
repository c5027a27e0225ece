import Testing

@testable import BatonPostgres

@Suite(.enabled(if: TestServer.isThere, TestServer.hint), .timeLimit(.minutes(10)))
struct ValueTests {
  @Test(arguments: [0, 1, -1, Int64.min, Int64.max, 0x0102_0304_0506_0708])
  func `an integer arrives as it was sent`(value: Int64) throws {
    #expect(try TestServer.connect().integer("SELECT $1", .integer(value)) == value)
  }

  @Test(arguments: ["", "plain", "Grüße, 世界 👩‍👩‍👧", "a\tb\nc\\x'\"", String(repeating: "é", count: 600_000)])
  func `a text arrives as it was sent`(value: String) throws {
    let connection = try TestServer.connect()
    let rows = try connection.rows("SELECT $1, char_length($1)", .text(value))
    #expect(try rows.text(0, 0) == value)
    #expect(try rows.integer(0, 1) == Int64(value.unicodeScalars.count))
  }

  @Test(arguments: [0, 1, 255, 256, 1 << 20])
  func `a blob arrives as it was sent`(size: Int) throws {
    let value = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let rows = try TestServer.connect().rows("SELECT $1, length($1)", .blob(value))
    #expect(try rows.blob(0, 0) == value)
    #expect(try rows.integer(0, 1) == Int64(size))
  }

  @Test func `a text with U+0000, which the server refuses, arrives with U+FFFD in its place`() throws {
    let connection = try TestServer.connect()
    let rows = try connection.rows("SELECT $1, ($2)[2]", .text("a\0b"), .texts(["c", "\0d\0"]))
    #expect(try rows.text(0, 0) == "a\u{FFFD}b")
    #expect(try rows.text(0, 1) == "\u{FFFD}d\u{FFFD}")
  }

  @Test func `nulls of every kind are null`() throws {
    let connection = try TestServer.connect()
    let rows = try connection.rows(
      "SELECT $1::bigint, $2, $3, $4, $5", .null, .optional(nil as Int64?), .optional(nil as String?),
      .optional(nil as [UInt8]?), .nullOf(.integers))
    #expect((0..<5).allSatisfy { rows.isNull(0, $0) })
    #expect(try rows.integerIfAny(0, 0) == nil)
    #expect(try rows.textIfAny(0, 2) == nil)
    #expect(try rows.blobIfAny(0, 3) == nil)
    #expect(rows.type(ofColumn: 4) == .integers)
    let error = try postgresError(.unreadable) { _ = try rows.integer(0, 1) }
    #expect(error.message.contains("is null"))
  }

  @Test func `arrays arrive with their nulls, in their order`() throws {
    let rows = try TestServer.connect().rows(
      "SELECT * FROM unnest($1, $2, $3) WITH ORDINALITY AS t(i, t, b, n) ORDER BY n",
      .integers([1, nil, .min]), .texts(["", nil, "世界"]), .blobs([[], nil, [0, 255]]))
    #expect(rows.count == 3)
    #expect(rows.columnCount == 4)
    #expect(try (0..<3).map { try rows.integerIfAny($0, 0) } == [1, nil, .min])
    #expect(try (0..<3).map { try rows.textIfAny($0, 1) } == ["", nil, "世界"])
    #expect(try (0..<3).map { try rows.blobIfAny($0, 2) } == [[], nil, [0, 255]])
  }

  @Test func `an empty array is empty, and not null`() throws {
    let rows = try TestServer.connect().rows(
      "SELECT cardinality($1), cardinality($2), cardinality($3)", .integers([]), .texts([]), .blobs([]))
    #expect(try (0..<3).map { try rows.integer(0, $0) } == [0, 0, 0])
  }

  @Test func `a large array arrives`() throws {
    let values = (0..<100_000).map { Int64($0) as Int64? }
    let connection = try TestServer.connect()
    #expect(try connection.integer("SELECT sum(i)::bigint FROM unnest($1) AS t(i)", .integers(values)) == 4_999_950_000)
    let texts = (0..<20_000).map { "text \($0)" as String? }
    #expect(
      try connection.integer("SELECT count(DISTINCT i) FROM unnest($1) AS t(i)", .texts(texts)) == 20_000)
  }

  @Test func `the types of the server are read as the types of the store`() throws {
    let rows = try TestServer.connect().rows(
      "SELECT true, false, 7::smallint, -7::integer, 'a'::varchar, current_database(), 'b'::char(2), count(*)"
    )
    #expect(try [0, 1, 2, 3, 7].map { try rows.integer(0, $0) } == [1, 0, 7, -7, 1])
    #expect(try rows.text(0, 4) == "a")
    #expect(try rows.text(0, 5) == "postgres")
    #expect(try rows.text(0, 6) == "b ")
    #expect(rows.name(ofColumn: 5) == "current_database")
  }

  @Test func `a type that cannot be read is named, with the cast that helps`() throws {
    let rows = try TestServer.connect().rows("SELECT sum(x) AS total, now() FROM unnest($1) AS t(x)", .integers([1]))
    let number = try postgresError(.unreadable) { _ = try rows.integer(0, 0) }
    #expect(
      number.message
        == "the column \"total\" cannot be read as an integer, because its type is numeric: cast it with ::bigint")
    let time = try postgresError(.unreadable) { _ = try rows.text(0, 1) }
    #expect(time.message.contains("timestamp with time zone"))
    _ = try postgresError(.unreadable) { _ = try rows.blob(0, 0) }
  }

  @Test func `a statement says how many rows it changed`() throws {
    let connection = try TestServer.connect()
    let rows = try connection.run(
      [
        PostgresStatement("CREATE TEMPORARY TABLE t (a bigint)"),
        PostgresStatement("INSERT INTO t SELECT * FROM unnest($1)", [.integers([1, 2, 3])]),
      ], deadline: soon)
    #expect(rows.map(\.affectedCount) == [0, 3])
    #expect(rows.map(\.columnCount) == [0, 0])
    #expect(try connection.rows("DELETE FROM t WHERE a > $1", .integer(1)).affectedCount == 2)
    #expect(try connection.rows("UPDATE t SET a = 5 WHERE a > 5").affectedCount == 0)
    #expect(try connection.rows("SELECT a FROM t").affectedCount == 1)
    #expect(try connection.rows("UPDATE t SET a = 5 RETURNING a").integer(0, 0) == 5)
  }

  @Test func `rows outlive their connection`() throws {
    let connection = try TestServer.connect()
    let rows = try connection.rows("SELECT 'still here'")
    connection.close()
    #expect(try rows.text(0, 0) == "still here")
  }
}
