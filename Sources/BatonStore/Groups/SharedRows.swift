internal import BatonModel
internal import GRDB
internal import Synchronization

/// Where groups of writes load their rows from and store them to.
protocol RowServer: AnyObject, Sendable {
  /// Locks and loads the rows of the keys, in the order that `RowKey` describes.
  /// - Parameter epoch: the tenure whose row is locked first; `nil` for a coordinator that is about to begin one.
  /// - Returns: `nil` if another group has locked one of them. Nothing is locked then.
  func load(_ keys: [RowKey], for epoch: Int64?, by group: Int) throws -> (held: HeldRows, rows: Rows)?
  /// Stores the changes in one transaction, and releases the locks of the group.
  /// - Throws: `RowConflict` if a new row exists already. Nothing is stored then.
  func store(_ changes: [RowChange], by group: Int) throws
  /// Releases the locks of the group.
  func release(_ group: Int)
}

/// Thrown if a group inserts a row that another group has inserted since. The group runs again.
struct RowConflict: Error {}

/// Thrown in a test where a group would have to wait for the group that began it.
struct RowsLocked: Error {}

/// One row that a group has locked. Tables are locked in the order of the cases, and the rows of a table in the order
/// of their numbers.
struct RowLock: Hashable, Comparable {
  enum Table: Int { case coordinator, identifier, request, pattern, host, identities, credentials, audit }
  var table: Table
  var id: Int64

  static func < (one: RowLock, other: RowLock) -> Bool {
    (one.table.rawValue, one.id) < (other.table.rawValue, other.id)
  }
}

/// A database in memory that several coordinators share, and the locks of their groups. It behaves as a database
/// elsewhere does that locks rows (`SELECT … FOR UPDATE`): a group holds its locks from loading to storing, reads what
/// is committed, and ready and due requests that another group has locked are skipped.
final class SharedRows: RowServer {
  private let database: any DatabaseWriter
  private let locks = Mutex<[RowLock: Int]>([:])
  private let hold = Mutex<(@Sendable () -> Void)?>(nil)
  private let isHolding = Mutex(false)
  private let counted = Mutex(0)
  private let numbers = SharedNumbers()
  /// The locks that are not taken, for a test that proves that they are needed.
  let ignored: Set<RowLock.Table>

  init(_ database: any DatabaseWriter, ignoring ignored: Set<RowLock.Table> = []) throws {
    self.database = database
    self.ignored = ignored
    try count()
  }

  /// Counts on from the rows that are there now.
  func count() throws {
    let next = try database.read { db in
      var next: [NumberedTable: Int64] = [:]
      for table in NumberedTable.allCases {
        next[table] = try Int64.fetchOne(db, sql: "SELECT coalesce(max(id), 0) + 1 FROM \(table.name)") ?? 1
      }
      let request = try Int64.fetchOne(db, sql: "SELECT next_request FROM store WHERE id = 1") ?? 1
      next[.request] = max(next[.request] ?? 1, request)
      return next
    }
    numbers.begin(with: next)
  }

  /// How often rows were loaded.
  var loads: Int { counted.withLock { $0 } }

  /// Holds the next group that has something to store: calls `body` before it stores, while it has its locks. A group
  /// that `body` begins does not wait for locks; it is refused with `RowsLocked`. `nil` holds none.
  func holdNext(_ body: (@Sendable () -> Void)?) { hold.withLock { $0 = body } }

  func load(_ keys: [RowKey], for epoch: Int64?, by group: Int) throws -> (held: HeldRows, rows: Rows)? {
    counted.withLock { $0 += 1 }
    return try database.writeWithoutTransaction { db in
      let shapes = try TableShape.all(in: db)
      let source = SharedRowSource(db: db, rows: self, group: group)
      if var loaded = try RowLoader.load(keys, epoch: epoch, numbers: numbers, from: source, shapes) {
        // The numbers are drawn here, and not from this column.
        if let store = shapes.first(where: { $0.name == "store" }),
          let next = store.columns.firstIndex(of: "next_request")
        {
          loaded.rows[store]?[[.integer(1)]]?[next] = .integer(numbers.upcoming(.request))
        }
        return loaded
      }
      if isHolding.withLock({ $0 }) { throw RowsLocked() }
      return nil
    }
  }

  /// Locks the rows for the group, unless another group has one of them.
  fileprivate func lock(_ rows: Set<RowLock>, for group: Int) -> Bool {
    let wanted = rows.filter { !ignored.contains($0.table) }
    return locks.withLock { locks in
      guard wanted.allSatisfy({ locks[$0] ?? group == group }) else { return false }
      for lock in wanted { locks[lock] = group }
      return true
    }
  }

  /// The rows that other groups have locked.
  fileprivate func taken(by group: Int) -> Set<RowLock> { Set(locks.withLock { $0.filter { $0.value != group } }.keys) }

  func store(_ changes: [RowChange], by group: Int) throws {
    defer { release(group) }
    if let held = hold.withLock({ hold in
      defer { hold = nil }
      return hold
    }) {
      isHolding.withLock { $0 = true }
      held()
      isHolding.withLock { $0 = false }
    }
    do {
      try database.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
          for change in changes { try Self.store(change, in: db) }
          try db.execute(
            sql: "UPDATE store SET next_request = ? WHERE id = 1", arguments: [numbers.upcoming(.request)])
          return .commit
        }
      }
    } catch let error as DatabaseError
      where [.SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY].contains(error.extendedResultCode)
    {
      throw RowConflict()
    }
  }

  func release(_ group: Int) { locks.withLock { locks in locks = locks.filter { $0.value != group } } }

  private static func store(_ change: RowChange, in db: Database) throws {
    let table = change.table
    let condition = table.key.map { "\(table.columns[$0]) = ?" }.joined(separator: " AND ")
    switch change.kind {
    case .insert(let row):
      let places = row.map { _ in "?" }.joined(separator: ", ")
      // The shares of a coordinator are kept in its memory and are not loaded (`Verbs.shares`).
      let verb = table.name == "share" ? "INSERT OR REPLACE" : "INSERT"
      try statement("\(verb) INTO \(table.name) VALUES (\(places))", in: db).run(cells: row)
    case .update(let columns, let values):
      let new = columns.map { "\(table.columns[$0]) = ?" }.joined(separator: ", ")
      try statement("UPDATE \(table.name) SET \(new) WHERE \(condition)", in: db)
        .run(cells: values + change.key)
    case .delete: try statement("DELETE FROM \(table.name) WHERE \(condition)", in: db).run(cells: change.key)
    }
  }

  private static func statement(_ sql: String, in db: Database) throws -> Prepared {
    Prepared(try db.cachedStatement(sql: sql))
  }
}

/// The database of `SharedRows`, as the loader of one group asks it.
private struct SharedRowSource: RowSource {
  let db: Database
  let rows: SharedRows
  let group: Int

  func answer(_ exchange: RowExchange) throws -> RowExchange.Answer? {
    guard rows.lock(exchange.locks, for: group) else { return nil }
    let free = try lockFree(exchange.free)
    return RowExchange.Answer(free: free, rows: try exchange.questions.map(answer))
  }

  private func answer(_ question: RowQuestion) throws -> [[Cell]] {
    let text = question.text(list: { "IN (SELECT value FROM json_each(?\($0)))" }, parameter: { "?\($0)" })
    let statement = try db.cachedStatement(sql: text)
    return try Prepared(statement).all(cells: question.parameters.map(\.cell)) { row in
      (0..<Int32(statement.columnCount)).map(row.cell)
    }
  }

  private func lockFree(
    _ questions: [(question: RowQuestion, limit: Int)]
  ) throws -> [[(request: Int64, identifier: Int64)]] {
    let taken = rows.taken(by: group)
    return try questions.map { question, limit in
      var question = question
      question.sql = "SELECT r.id, r.identifier FROM request r WHERE \(question.sql) LIMIT \(limit + taken.count)"
      let found: [(request: Int64, identifier: Int64)] = try answer(question).compactMap { cells in
        guard case .integer(let request) = cells[0], case .integer(let identifier) = cells[1] else { return nil }
        let locks: Set = [RowLock(table: .request, id: request), RowLock(table: .identifier, id: identifier)]
        return taken.isDisjoint(with: locks) ? (request, identifier) : nil
      }
      let free = Array(found.prefix(limit))
      let locks = free.flatMap {
        [RowLock(table: .request, id: $0.request), RowLock(table: .identifier, id: $0.identifier)]
      }
      precondition(rows.lock(Set(locks), for: group), "rows that were free are locked")
      return free
    }
  }
}

extension RowParameter {
  /// The parameter as one value: a list is JSON.
  fileprivate var cell: Cell {
    switch self {
    case .one(let cell): cell
    case .integers(let values): .text("[" + values.map { "\($0)" }.joined(separator: ",") + "]")
    case .texts(let values): .text("[" + values.map(Self.json).joined(separator: ",") + "]")
    }
  }

  private static func json(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
        ? "\\u" + String(repeating: "0", count: scalar.value < 16 ? 3 : 2) + String(scalar.value, radix: 16)
        : String(scalar)
    }
    return "\"" + escaped.joined() + "\""
  }
}
