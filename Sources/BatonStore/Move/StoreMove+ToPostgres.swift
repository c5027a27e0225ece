internal import BatonBase
internal import BatonModel
internal import BatonPostgres
internal import GRDB

extension StoreMove {
  /// Moves the store in `folder`, which no process has open, to a database without tables.
  /// - Parameter fleet: what all coordinators of this fleet have in common (`PostgresStore.demand`).
  /// - Throws: `.notFound` if there is no store in the folder, `.locked` if a coordinator uses it, `.refused` if the
  ///   database is not empty or the store is not there any more; `.relocated` if the store has left the folder and only
  ///   the last step is missing; the errors of `PostgresStore.open`.
  package static func toPostgres(
    from folder: String, to address: String, fleet: String?, _ options: Options = Options()
  ) async throws -> Summary {
    try run(options) { course in
      guard FileIdentity(of: folder + "/" + StoreFolder.databaseName) != nil else { throw StoreError.noStore(folder) }
      let target = try place(address, options)
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
          try course.reached(.live)
          return Summary(wasFinished: true)
        }
        return try move(source, of: folder, to: target, connection, fleet: fleet, course)
      }
    }
  }

  /// The place that an address names, which must not contain a password.
  static func place(_ address: String, _ options: Options) throws -> PostgresPlace {
    let address = try PostgresAddress(address)
    if address.hasPassword {
      throw StoreError(
        .refused,
        "the address has a password, which other users of this machine can read in a command: put it in ~/.pgpass")
    }
    return PostgresPlace(address, options)
  }

  /// Copies the store, and leaves its folder unless this is a rehearsal. Nothing else writes to the store meanwhile.
  /// - Parameter source: the connection of the writer, outside of a transaction.
  static func move(
    _ source: Database, of folder: StoreFolder, to target: PostgresPlace, _ connection: PostgresConnection,
    fleet: String?, _ course: MoveCourse
  ) throws -> Summary {
    let mark = try StoreMark.arriving(of: source, from: folder.path)
    var summary = Summary()
    // A deferred transaction: it keeps its snapshot until the copy is done.
    try source.inTransaction(.deferred) {
      summary = try copy(source, mark, to: target, connection, fleet: fleet, course)
      return .commit
    }
    if course.isRehearsal { return summary }
    try course.reached(.arrived)
    if let loss = folder.loss { throw loss }
    try course.control.passPointOfNoReturn()
    try FileMark.set(StoreMark(state: .moved, move: mark.move, place: target.place, store: mark.store), in: source)
    do {
      try course.reached(.left)
      guard try target.finish(mark.move, on: connection) else {
        throw StoreError(
          .corrupt, "The copy in \(target.name) is gone; the store in \(folder.path) is as it was copied.")
      }
    } catch {
      throw StoreError.unfinished(folder.path, target.name, error)
    }
    try course.reached(.live)
    return summary
  }

  /// Copies the store in one transaction of the target, which a rehearsal rolls back.
  /// - Parameter source: a connection in a transaction.
  static func copy(
    _ source: Database, _ mark: StoreMark, to target: PostgresPlace, _ connection: PostgresConnection,
    fleet: String?, _ course: MoveCourse
  ) throws -> Summary {
    let shapes = try TableShape.all(in: source)
    try target.begin(for: mark, fleet: fleet, shapes, on: connection)
    let copy = PostgresRowsOfMove(connection: connection, target)
    let summary = try transfer(shapes, from: FileRows(db: source), to: copy, course)
    try target.setSequences(nextRequest: try FileMark.nextRequest(source), on: connection)
    try target.checkInvariants(on: connection)
    try course.reached(.verified)
    if course.isRehearsal {
      try target.rollBack(on: connection)
    } else {
      try target.analyze(summary: shapes, on: connection)
      try target.commit(on: connection)
    }
    return summary
  }
}
