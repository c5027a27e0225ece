internal import BatonBase
internal import BatonModel
internal import BatonPostgres
internal import GRDB

/// Moves a store that no coordinator uses, from its folder to PostgreSQL or back.
///
/// 1. The copy is made in one transaction, from one snapshot. It is compared with the store: rows and a sum of each
///    table, and what holds between tables.
/// 2. The copy is committed with the mark *arriving*: no coordinator starts on it.
/// 3. The store gets the mark *moved*, durably. This is the point of no return: no coordinator starts on it any more.
/// 4. The copy loses its mark.
///
/// A move that was killed before the third step has changed nothing, and the next one makes a new copy. A move that was
/// killed after it is finished by the next one. At no time can coordinators start on both.
package enum StoreMove {
  /// What a move has done, in this order.
  package enum Step: String, Hashable, Sendable, CaseIterable {
    case copied, verified, arrived, left, live
  }

  package struct Options: Sendable {
    /// Copies and compares, and throws the copy away.
    package var isRehearsal = false
    /// How long the beat of a coordinator has to stand still until it counts as dead. Coordinators that live beat each
    /// second.
    package var patience = Duration.seconds(6)
    /// Called after each table with the number of its rows. It must not block.
    package var copied: @Sendable (_ table: String, _ rows: Int) -> Void = { _, _ in }
    /// Called after each step. An error that it throws ends the move as a kill would.
    package var reached: @Sendable (Step) throws -> Void = { _ in }
    /// False is for tests that cut no power.
    var demandsDurability = true

    package init() {}
  }

  package struct Summary: Hashable, Sendable {
    package var requests = 0
    package var rows = 0
    /// Whether an earlier move was finished, so that nothing had to be copied.
    package var wasFinished = false

    package init(requests: Int = 0, rows: Int = 0, wasFinished: Bool = false) {
      (self.requests, self.rows, self.wasFinished) = (requests, rows, wasFinished)
    }
  }

  /// Moves the store in `folder` to a database without tables.
  /// - Parameter fleet: what all coordinators of this fleet have in common (`PostgresStore.demand`).
  /// - Throws: `.notFound` if there is no store in the folder, `.locked` if a coordinator uses it, `.refused` if the
  ///   database is not empty or the store is not there any more; the errors of `PostgresStore.open`.
  package static func toPostgres(
    from folder: String, to address: String, fleet: String?, _ options: Options = Options()
  ) async throws -> Summary {
    do {
      return try move(folder, to: address, fleet: fleet, options)
    } catch {
      throw StoreError(anything: error)
    }
  }

  private static func move(
    _ folder: String, to address: String, fleet: String?, _ options: Options
  ) throws -> Summary {
    guard FileIdentity(of: folder + "/" + StoreFolder.databaseName) != nil else { throw StoreError.noStore(folder) }
    let address = try PostgresAddress(address)
    if address.hasPassword {
      throw StoreError(
        .refused,
        "the address has a password, which other users of this machine can read in a command: put it in ~/.pgpass")
    }
    let target = PostgresPlace(address, options)
    let folder = try StoreFolder(folder)
    defer { folder.release() }
    let database = try DatabasePool(path: folder.databasePath, configuration: SQLiteStore.configuration)
    defer { try? database.close() }
    let connection = try target.connect()
    defer { connection.close() }
    return try database.writeWithoutTransaction { source in
      try Durability.demand(source)
      if let mark = try FileMark.read(source) {
        guard mark.state == .moved, try target.finish(mark.move, on: connection) else { throw mark.refusal }
        try options.reached(.live)
        return Summary(wasFinished: true)
      }
      return try copy(source, folder, connection, target, fleet: fleet, options)
    }
  }

  private static func copy(
    _ source: Database, _ folder: StoreFolder, _ connection: PostgresConnection, _ target: PostgresPlace,
    fleet: String?, _ options: Options
  ) throws -> Summary {
    try Migrations.expectOurs(source)
    guard try FileMark.isCurrent(source) else {
      throw StoreError(
        .refused, "The store in \(folder.path) was written by another version: start this version on it once first.")
    }
    let shapes = try TableShape.all(in: source)
    let mark = StoreMark(
      state: .arriving, move: RandomNumbers.name(), place: folder.path, store: try FileMark.storeName(source))
    var summary = Summary()
    // A deferred transaction: it keeps its snapshot until the copy is done.
    try source.inTransaction(.deferred) {
      try target.begin(for: mark, fleet: fleet, shapes, on: connection)
      let rows = FileRows(db: source)
      let copy = PostgresRowsOfMove(connection: connection, target)
      summary = try transfer(shapes, from: rows, to: copy, options)
      try target.setSequences(nextRequest: try FileMark.nextRequest(source), on: connection)
      try target.checkInvariants(on: connection)
      try options.reached(.verified)
      if options.isRehearsal { return .rollback }
      try target.analyze(summary: shapes, on: connection)
      try target.commit(on: connection)
      return .commit
    }
    if options.isRehearsal {
      try target.rollBack(on: connection)
      return summary
    }
    try options.reached(.arrived)
    // This is the point of no return.
    try FileMark.set(StoreMark(state: .moved, move: mark.move, place: target.name, store: mark.store), in: source)
    try options.reached(.left)
    guard try target.finish(mark.move, on: connection) else {
      throw StoreError(.corrupt, "The copy in \(target.name) is gone; the store in \(folder.path) is as it was copied.")
    }
    try options.reached(.live)
    return summary
  }

  /// Moves a store from PostgreSQL to a folder without a store.
  /// - Throws: `.refused` if a coordinator uses the store, if there is a store in the folder, or if the store is not in
  ///   the database any more; `.locked` if a coordinator uses the folder.
  package static func toFolder(
    _ folder: String, from address: String, _ options: Options = Options()
  ) async throws -> Summary {
    do {
      let source = PostgresPlace(try PostgresAddress(address), options)
      let connection = try source.connect()
      defer { connection.close() }
      try StoreFolder.makeFolder(folder)
      let lock = try DataFolderLock(folder)
      defer { lock.release() }
      let target = ArrivingFile(folder: folder)
      switch try source.mark(on: connection) {
      case nil: break
      case let mark? where mark.state == .moved:
        guard try target.finish(mark.move) else { throw mark.refusal }
        try options.reached(.live)
        return Summary(wasFinished: true)
      case let mark?: throw mark.refusal
      }
      let silent = try source.living(on: connection)
      if !silent.isEmpty {
        try await Task.sleep(for: options.patience)
        try source.end(silent, on: connection)
      }
      return try copy(connection, source, to: target, options)
    } catch {
      throw StoreError(anything: error)
    }
  }

  private static func copy(
    _ connection: PostgresConnection, _ source: PostgresPlace, to target: ArrivingFile, _ options: Options
  ) throws -> Summary {
    // From here until it is committed or rolled back, nothing can be written to the store.
    let store = try source.holdStill(on: connection)
    try target.demandNoOther(than: store)
    let move = RandomNumbers.name()
    let rows = PostgresRowsOfMove(connection: connection, source, nextRequest: try source.nextRequest(on: connection))
    let mark = StoreMark(state: .arriving, move: move, place: source.name, store: store)
    let summary = try target.make(mark) { db, shapes in
      let summary = try transfer(shapes, from: rows, to: FileRows(db: db), options)
      try FileMark.checkInvariants(db)
      try options.reached(.verified)
      return summary
    }
    if options.isRehearsal {
      target.remove()
      try source.rollBack(on: connection)
      return summary
    }
    try target.putInPlace()
    try options.reached(.arrived)
    // This is the point of no return.
    try source.leave(StoreMark(state: .moved, move: move, place: target.folder, store: store), on: connection)
    try options.reached(.left)
    guard try target.finish(move) else {
      throw StoreError(
        .corrupt, "The copy in \(target.folder) is gone; the store in \(source.name) is as it was copied.")
    }
    try options.reached(.live)
    return summary
  }

  /// Copies all tables, and compares them with what can be read back.
  private static func transfer(
    _ shapes: [TableShape], from source: some TablesOfMove, to target: some TablesOfMove, _ options: Options
  ) throws -> Summary {
    var summary = Summary()
    var sums: [String: TableSum] = [:]
    for shape in shapes {
      var sum = TableSum()
      try target.empty(shape)
      try source.read(shape) { rows in
        let rows = rows.map { shape.moved($0) }
        for row in rows { sum.add(row) }
        try target.insert(rows, shape)
      }
      sums[shape.name] = sum
      summary.rows += sum.rows
      if shape.name == "request" { summary.requests = sum.rows }
      options.copied(shape.name, sum.rows)
    }
    try options.reached(.copied)
    for shape in shapes {
      var sum = TableSum()
      try target.read(shape) { for row in $0 { sum.add(row) } }
      guard sum == sums[shape.name] else {
        throw StoreError(
          .corrupt,
          "The copy of the table \(shape.name) is not what was copied (\(sum.rows) rows of "
            + "\(sums[shape.name]?.rows ?? 0)). The store is as it was.")
      }
    }
    return summary
  }
}

/// The tables of one side of a move.
protocol TablesOfMove {
  /// Calls `body` with all rows, some thousand at a time.
  func read(_ table: TableShape, _ body: ([[Cell]]) throws -> Void) throws
  func insert(_ rows: [[Cell]], _ table: TableShape) throws
  /// Deletes the rows with which an empty store begins.
  func empty(_ table: TableShape) throws
}

/// The number of rows of a table, and a sum of them that does not depend on their order.
struct TableSum: Hashable {
  private(set) var rows = 0
  private(set) var sum: UInt64 = 0

  /// Adds the hash of a row: FNV-1a with 64 bits over the type and the bytes of each value, mixed as by SplitMix64.
  mutating func add(_ row: [Cell]) {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    func mix(_ number: UInt64) {
      hash = (hash ^ number) &* 0x9e37_79b9_7f4a_7c15
      hash ^= hash >> 29
    }
    for cell in row {
      switch cell {
      case .null: mix(UInt8(0))
      case .integer(let value):
        mix(UInt8(1))
        mix(UInt64(bitPattern: value))
      case .text(var value):
        mix(UInt8(2))
        mix(UInt64(value.utf8.count))
        value.withUTF8 { for byte in $0 { mix(byte) } }
      case .blob(let value):
        mix(UInt8(3))
        mix(UInt64(value.count))
        for byte in value { mix(byte) }
      }
    }
    hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
    sum &+= hash ^ (hash >> 27)
    rows += 1
  }
}

extension TableShape {
  /// A row as the copy has it: no coordinator of the store lives.
  fileprivate func moved(_ row: [Cell]) -> [Cell] {
    guard name == "coordinator", let isEnded = columns.firstIndex(of: "is_ended") else { return row }
    var row = row
    row[isEnded] = .integer(1)
    return row
  }
}

/// What a store says of a move.
struct StoreMark: Hashable {
  enum State: String { case arriving, moved }
  var state: State
  /// A random name of the move, which both sides have.
  var move: String
  /// Where the store comes from, or where it went.
  var place: String
  /// The name of the store (`store.incarnation`).
  var store: String

  /// What a coordinator says that finds the mark.
  var refusal: StoreError {
    switch state {
    case .arriving:
      StoreError(
        .refused,
        "the store is a copy from \(place) whose move has not ended: give 'baton store move' once more, or go on with "
          + "the store there")
    case .moved:
      StoreError(
        .refused,
        "the store has moved to \(place): set 'store' in coordinator.yaml (or BATON_STORE) to where it is now. If the "
          + "move was interrupted, give 'baton store move' once more")
    }
  }
}

extension StoreError {
  static func noStore(_ folder: String) -> StoreError {
    StoreError(.notFound, "There is no store in \(folder): no file \(StoreFolder.databaseName).")
  }
}

/// What has to hold in every store, as queries that count what is wrong. Both databases understand them.
enum StoreInvariants {
  static let all = [
    (
      "a request that runs has one open launch",
      """
      SELECT count(*) FROM request r WHERE r.state = 2
        AND NOT EXISTS (SELECT 1 FROM launch l WHERE l.request = r.id AND l.ended_at IS NULL)
      """
    ),
    (
      "an open launch belongs to a request that runs",
      """
      SELECT count(*) FROM launch l WHERE l.ended_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM request r WHERE r.id = l.request AND r.state = 2)
      """
    ),
    (
      "the numbers of waiting and running requests are those of the rows",
      """
      SELECT abs((SELECT coalesce(sum(scheduled + ready + running), 0) FROM share)
        - (SELECT count(*) FROM request WHERE state <= 2))
      """
    ),
  ]

  static func error(_ what: String) -> StoreError {
    StoreError(.corrupt, "The store is damaged and is not moved: it does not hold that \(what).")
  }
}
