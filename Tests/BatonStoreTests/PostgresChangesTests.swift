import BatonPostgres
import GRDB
import Testing

@testable import BatonStore

/// The statements that store what a group has changed: one row has a statement with plain values, and several rows have
/// one with arrays.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint), .timeLimit(.minutes(5))) struct PostgresChangesTests {
  /// The columns that are not named are null, or 0.
  @Test(
    arguments: [
      ("identifier", ["name": .text("com.a"), "last_number": .integer(3)], ["usual_interval": .integer(7)]),
      ("payload", ["bytes": .blob([0, 1, 255])], ["bytes": .blob([])]),
      ("progress", ["batches": .integer(2), "subtitle": .text("ä")], ["subtitle": .null, "cursor": .blob([9])]),
      ("share", ["ready": .integer(4)], ["ready": .integer(0), "running": .integer(4)]),
    ] as [(String, [String: Cell], [String: Cell])])
  func `one row is stored as each of several rows is`(
    table: String, inserted: [String: Cell], updated: [String: Cell]
  ) throws {
    let shape = try #require(try WorkingSet.database().read { try TableShape.all(in: $0) }.first { $0.name == table })
    let beside = try Bystander(try TestDatabase.make())
    defer { beside.close() }
    try beside.run("SET session_replication_role = replica; DELETE FROM \(table)")
    let nullable = try beside.cells(
      "SELECT column_name::text FROM information_schema.columns WHERE table_name = '\(table)' AND is_nullable = 'YES'"
    ).map { $0[0].string }

    func row(_ number: Int64, _ values: [String: Cell]) -> [Cell] {
      shape.columns.indices.map { column in
        let name = shape.columns[column]
        if column == shape.key[0] { return .integer(number) }
        // Names are unique.
        if case .text(let text)? = values[name] { return .text("\(text).\(number)") }
        return values[name] ?? (nullable.contains(name) ? .null : .integer(0))
      }
    }
    func stored() throws -> [[Cell]] {
      let columns = shape.columns.map { "\"\($0)\"" }.joined(separator: ", ")
      return try beside.cells("SELECT \(columns) FROM \(table) ORDER BY \(shape.columns[shape.key[0]])")
    }
    /// Stores a change of one row, and then of two.
    func store(_ kind: (Int64) -> RowChange.Kind, from old: [String: Cell]?, to new: [String: Cell]?) throws {
      for numbers in [[1], [2, 3]] as [[Int64]] {
        let changes = numbers.map { RowChange(table: shape, key: shape.key(of: row($0, [:])), kind: kind($0)) }
        let statements = PostgresChanges.statements(for: changes)
        #expect(statements.count == 1 && statements[0].sql.contains("unnest") == (numbers.count > 1))
        try beside.run(statements)
        let expected = [1, 2, 3].compactMap { number in
          (number == 1 || numbers.contains(number) ? new : old).map { row(number, $0) }
        }
        #expect(try stored() == expected)
      }
    }

    let all = inserted.merging(updated) { $1 }
    let positions = shape.columns.indices.filter { updated[shape.columns[$0]] != nil }
    try store({ .insert(row($0, inserted)) }, from: nil, to: inserted)
    try store({ number in .update(positions, positions.map { row(number, updated)[$0] }) }, from: inserted, to: all)
    if shape.existing == .isReplaced {
      try store({ .insert(row($0, inserted)) }, from: all, to: inserted)
      try store({ _ in .delete }, from: inserted, to: nil)
    } else {
      try store({ _ in .delete }, from: all, to: nil)
    }
  }
}
