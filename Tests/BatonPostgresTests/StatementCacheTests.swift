import Testing

@testable import BatonPostgres

@Suite struct StatementCacheTests {
  private func add(_ statement: PostgresStatement, to cache: inout StatementCache) -> String {
    let name = cache.newName()
    cache.insert(statement, as: name)
    return name
  }

  @Test func `the types of the values belong to a statement`() {
    var cache = StatementCache(capacity: 8)
    let integer = PostgresStatement("SELECT $1", [.integer(1)])
    let null = PostgresStatement("SELECT $1", [.optional(nil as Int64?)])
    let text = PostgresStatement("SELECT $1", [.text("1")])
    let first = add(integer, to: &cache)
    #expect(cache.name(for: integer) == first)
    #expect(cache.name(for: null) == first)
    #expect(cache.name(for: text) == nil)
    let second = add(text, to: &cache)
    #expect(first != second)
    #expect(cache.name(for: integer) == first)
    #expect(cache.name(for: text) == second)
  }

  @Test func `what was not used for the longest time is forgotten`() {
    var cache = StatementCache(capacity: 4)
    let statements = (0..<5).map { PostgresStatement("SELECT \($0)") }
    let names = statements.map { add($0, to: &cache) }
    #expect(cache.name(for: statements[0]) == names[0])
    #expect(cache.trim() == [names[1], names[2]])
    #expect(cache.count == 3)
    #expect(cache.name(for: statements[1]) == nil)
    #expect(cache.name(for: statements[0]) == names[0])
    #expect(cache.trim() == [])
  }

  @Test func `the server has to forget what it has, and only that`() {
    var cache = StatementCache(capacity: 4)
    let statement = PostgresStatement("SELECT 1")
    let refused = add(statement, to: &cache)
    cache.remove(statement.sql, named: refused)
    #expect(cache.trim() == [])
    let stale = add(statement, to: &cache)
    cache.forget(statement.sql, named: stale)
    #expect(cache.name(for: statement) == nil)
    #expect(cache.trim() == [stale])
    _ = add(statement, to: &cache)
    cache.removeAll()
    #expect(cache.count == 0)
    #expect(cache.trim() == [])
  }
}
