/// The statements that are prepared on one connection, by their SQL and the types of their values.
///
/// The cache is bounded: before a call outside of a transaction, the statements that were used the longest time ago are
/// forgotten, and the connection tells the server to forget them too (DEALLOCATE, which an aborted transaction would
/// refuse). Names are never used twice, so a name that the server still has harms nothing.
struct StatementCache {
  /// A class, so that a use is noted where the entry is, without a second search for its text.
  final class Entry {
    let name: String
    let types: [PostgresType]
    fileprivate var lastUse: UInt64

    fileprivate init(name: String, types: [PostgresType], lastUse: UInt64) {
      (self.name, self.types, self.lastUse) = (name, types, lastUse)
    }
  }

  let capacity: Int
  private var entries: [String: [Entry]] = [:]
  private(set) var count = 0
  private var uses: UInt64 = 0
  private var names: UInt64 = 0
  /// Names of statements that are not used any more, and that the server still has.
  private var forgotten: [String] = []

  init(capacity: Int) { self.capacity = capacity }

  /// The name of the prepared statement for this SQL and values of these types.
  mutating func name(for statement: PostgresStatement) -> String? {
    guard let entry = entries[statement.sql]?.first(where: { $0.fits(statement.values) }) else { return nil }
    uses += 1
    entry.lastUse = uses
    return entry.name
  }

  /// A name for a statement that the caller prepares now.
  mutating func newName() -> String {
    names += 1
    return "baton_\(names)"
  }

  /// Notes that the server was asked to prepare a statement under this name.
  mutating func insert(_ statement: PostgresStatement, as name: String) {
    uses += 1
    count += 1
    entries[statement.sql, default: []].append(
      Entry(name: name, types: statement.values.map(\.type), lastUse: uses))
  }

  /// Notes that the server does not have this statement, because it refused or skipped the preparation.
  mutating func remove(_ sql: String, named name: String) {
    guard let index = entries[sql]?.firstIndex(where: { $0.name == name }) else { return }
    entries[sql]?.remove(at: index)
    if entries[sql]?.isEmpty == true { entries[sql] = nil }
    count -= 1
  }

  /// Forgets a statement that the server still has.
  mutating func forget(_ sql: String, named name: String) {
    remove(sql, named: name)
    forgotten.append(name)
  }

  /// Forgets all statements, because the server has forgotten them (DISCARD ALL, DEALLOCATE ALL).
  mutating func removeAll() {
    entries = [:]
    forgotten = []
    count = 0
  }

  /// Forgets what is over the capacity. Returns the names that the server has to forget; the caller tells it.
  mutating func trim() -> [String] {
    if count > capacity { forgetOldest(count - capacity * 3 / 4) }
    defer { forgotten = [] }
    return forgotten
  }

  /// A quarter at a time, so that a connection at its limit does not sort with every call.
  private mutating func forgetOldest(_ number: Int) {
    let all = entries.flatMap { sql, entries in entries.map { (sql: sql, entry: $0) } }
    for (sql, entry) in all.sorted(by: { $0.entry.lastUse < $1.entry.lastUse }).prefix(number) {
      forget(sql, named: entry.name)
    }
  }
}

extension StatementCache.Entry {
  fileprivate func fits(_ values: [PostgresValue]) -> Bool {
    types.count == values.count && zip(types, values).allSatisfy { $0 == $1.type }
  }
}
