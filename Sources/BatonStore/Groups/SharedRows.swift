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
  enum Table: Int, CaseIterable {
    case coordinator, identifier, request, pattern, namespace, limitKey, host, identities, credentials, audit

    /// The table whose rows are locked one by one; `nil` for a lock that stands for all rows of a table, of a
    /// namespace, or of the key of a limit. The name is asked for once for each lock.
    var tableName: String? {
      switch self {
      case .coordinator: "coordinator"
      case .identifier: "identifier"
      case .request: "request"
      case .pattern: "pattern"
      case .host: "host"
      case .namespace, .limitKey, .identities, .credentials, .audit: nil
      }
    }

    /// The column that the locks name.
    var key: String { self == .coordinator ? "epoch" : "id" }
  }
  var table: Table
  var id: Int64

  /// The number by which a namespace or a key is locked: the FNV-1a hash of its text. Two of them with one number would
  /// only wait for each other. The second bit keeps it away from other numbers that the database locks.
  static func number(of namespace: String) -> Int64 {
    let hash = namespace.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return Int64(bitPattern: hash >> 2 | 1 << 62)
  }

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
  private let memory = RowMemory()
  private let catalog: RowCatalog
  /// The locks that are not taken, for a test that proves that they are needed.
  let ignored: Set<RowLock.Table>

  init(_ database: any DatabaseWriter, ignoring ignored: Set<RowLock.Table> = []) throws {
    self.database = database
    self.ignored = ignored
    catalog = RowCatalog(try database.read { try TableShape.all(in: $0) }) { question in
      question.text(list: { "IN (SELECT value FROM json_each(?\($0)))" }, parameter: { "?\($0)" })
    }
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
      let source = SharedRowSource(db: db, rows: self, group: group, catalog: catalog)
      if var loaded = try RowLoader.load(keys, epoch: epoch, numbers: numbers, from: source, memory) {
        let store = catalog["store"]
        // The numbers are drawn here, and not from this column.
        if let next = store.columns.firstIndex(of: "next_request") {
          loaded.rows[store]?[.number(1)]?[next] = .integer(numbers.upcoming(.request))
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
      memory.note(changes)
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
      let verb = table.existing == .isReplaced ? "INSERT OR REPLACE" : "INSERT"
      let conflict = table.existing == .isKept ? " ON CONFLICT DO NOTHING" : ""
      try statement("\(verb) INTO \(table.name) VALUES (\(places))\(conflict)", in: db).run(cells: row)
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
  let catalog: RowCatalog

  func beginAgain() { rows.release(group) }

  func answer(_ exchange: RowExchange) throws -> RowExchange.Answer? {
    guard rows.lock(exchange.locks, for: group) else { return nil }
    var answer = RowExchange.Answer(locked: try locked(exchange.locks))
    answer.free = try lockFree(exchange.free)
    answer.rows = try exchange.questions.map(self.answer)
    return answer
  }

  private func locked(_ locks: Set<RowLock>) throws -> [RowLock.Table: [[Cell]]] {
    var locked: [RowLock.Table: [[Cell]]] = [:]
    for (table, locks) in Dictionary(grouping: locks, by: \.table) {
      guard let name = table.tableName else { continue }
      let sql = "SELECT \(catalog.columns(of: name)) FROM \(name) WHERE \(table.key) IN ?1"
      locked[table] = try answer(RowQuestion(sql, .integers(locks.map(\.id))))
    }
    return locked
  }

  private func answer(_ question: RowQuestion) throws -> [[Cell]] {
    let statement = try db.cachedStatement(sql: catalog.text(of: question))
    return try Prepared(statement).all(cells: question.parameters.map(\.cell)) { row in
      (0..<Int32(statement.columnCount)).map(row.cell)
    }
  }

  private func lockFree(
    _ questions: [(question: RowQuestion, limit: Int)]
  ) throws -> [[RowExchange.Free]] {
    let taken = rows.taken(by: group)
    let width = catalog["request"].columns.count
    let columns = "\(catalog.columns(of: "request", prefix: "r.")), \(catalog.columns(of: "identifier", prefix: "i."))"
    return try questions.map { question, limit in
      var question = question
      question.sql = """
        SELECT \(columns) FROM request r JOIN identifier i ON i.id = r.identifier WHERE \(question.sql)
        LIMIT ?\(question.parameters.count + 1)
        """
      question.parameters.append(.integer(limit + taken.count))
      let found = try answer(question).map { cells in
        RowExchange.Free(request: Array(cells[..<width]), identifier: Array(cells[width...]))
      }
      let free = Array(found.filter { taken.isDisjoint(with: locks(of: $0)) }.prefix(limit))
      precondition(rows.lock(Set(free.flatMap(locks)), for: group), "rows that were free are locked")
      return free
    }
  }

  private func locks(of free: RowExchange.Free) -> [RowLock] {
    [(RowLock.Table.request, free.request), (.identifier, free.identifier)].compactMap { table, row in
      table.tableName.map { RowLock(table: table, id: catalog[$0].key(of: row)[0].number) }
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
