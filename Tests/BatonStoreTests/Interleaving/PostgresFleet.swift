import BatonModel
import BatonPostgres
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// The two coordinators of `Fleet`, with the same rows in PostgreSQL. Each has a connection of its own.
final class PostgresFleet: Sendable {
  let stores: [PostgresStore]
  let beside: Bystander
  private let address: PostgresAddress
  private let original: Fleet
  private let held = Mutex(false)

  /// - Parameter limits: of both stores.
  init(trial: PostgresTrial = PostgresTrial(), limits: StoreLimits = Fleet.limits) throws {
    let address = try TestDatabase.make()
    self.address = address
    original = try Fleet.onTheWholeStore()
    stores = try (0..<2).map { _ in
      try TestDatabase.open(address, storeLimits: limits, queuesSpans: true, trial: trial)
    }
    beside = try Bystander(address)
    try copyRows()
    try reset()
  }

  /// Copies the rows of the fleet, and makes the function that sets them back.
  private func copyRows() throws {
    let database = original.original
    let (shapes, rows) = try database.read { db in
      let shapes = try TableShape.all(in: db)
      return (
        shapes,
        try shapes.flatMap { shape in
          try Prepared(try db.cachedStatement(sql: "SELECT * FROM \(shape.name)")).rows(of: shape.columns.count)
            .map { RowChange(table: shape, key: shape.key(of: $0), kind: .insert($0)) }
        }
      )
    }
    let names = shapes.map(\.name)
    let empty = names.map { "DELETE FROM \($0);" }.joined()
    let next = NumberedTable.allCases.map { table in
      "PERFORM setval('\(table.name)_ids', (SELECT coalesce(max(id), 0) + 1 FROM \(table.name)), false);"
    }
    // No trigger and no foreign key is looked at: the rows are those of a store.
    try beside.run("SET session_replication_role = replica; BEGIN; \(empty)")
    try beside.run(PostgresChanges.statements(for: rows))
    try beside.run(
      """
      COMMIT; CREATE SCHEMA original;
      \(names.map { "CREATE TABLE original.\($0) AS SELECT * FROM \($0);" }.joined())
      CREATE FUNCTION original.reset() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        \(empty) \(names.map { "INSERT INTO \($0) SELECT * FROM original.\($0);" }.joined()) \(next.joined())
      END $$
      """)
  }

  /// Makes everything as it was.
  func reset() throws {
    try beside.run("SELECT original.reset()")
    for (store, memory) in zip(stores, original.memories) { try store.remember(memory) }
  }

  func run(_ act: Act, at number: Int) -> String {
    act.run(on: stores[number], Seat(number: number, lease: original.leases[number]))
  }

  /// The end if the second act comes while the first one is held between loading and storing. The first one goes on
  /// when the second one is done, or waits for it.
  func interleaved(_ first: Act, _ second: Act) throws -> [String] {
    try reset()
    let late = Mutex<Late<String>?>(nil)
    stores[0].server.holdNext { [self] in
      let begun = Late { [self] in run(second, at: 1) }
      late.withLock { $0 = begun }
      try? beside.wait { try begun.isDone || beside.waiting() > 0 }
      if !begun.isDone { held.withLock { $0 = true } }
    }
    held.withLock { $0 = false }
    let answer = run(first, at: 0)
    stores[0].server.holdNext(nil)
    let other = late.withLock { $0 }?.answer() ?? run(second, at: 1)
    return try [answer, other] + dump()
  }

  /// Whether the second act of the last pair had to wait for the first one.
  var secondWaited: Bool { held.withLock { $0 } }

  /// Another session in the database.
  func another() throws -> Bystander { try Bystander(address) }
  /// Another session, with the settings of a store.
  func anotherOfAStore() throws -> Bystander { try Bystander(likeAStoreIn: address) }

  /// Claims requests of a class for the first coordinator's host.
  /// - Returns: a function that claims so many, and returns how many it got.
  func claims(of wanted: RequirementClass) -> (Int) throws -> Int {
    let (store, lease) = (stores[0], original.leases[0])
    return { count in
      let places = (0..<count).map { _ in Claim.Place(gpus: [], spanID: someSpan) }
      let claim = Claim(requirementClass: wanted, lease: lease, places: places)
      return try store.transaction(needing: .claim([claim])) { try $0.claim([claim], at: someTime) }[0].assignments
        .count
    }
  }

  func dump() throws -> [String] { try Fleet.dump(beside.cells) }

  /// Closes everything.
  /// - Returns: how often two transactions waited for each other.
  func close() async throws -> Int64 {
    for store in stores { try await store.close() }
    return try beside.deadlocks()
  }
}
