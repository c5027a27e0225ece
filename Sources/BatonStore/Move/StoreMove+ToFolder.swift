internal import BatonBase
internal import BatonModel
internal import BatonPostgres

extension StoreMove {
  /// Moves a store that no coordinator uses from PostgreSQL to a folder without a store.
  /// - Throws: `.refused` if a coordinator uses the store or begins to, if there is a store in the folder, or if the
  ///   store is not in the database any more; `.relocated` if the store has left the database and only the last step is
  ///   missing; `.locked` if a coordinator uses the folder.
  package static func toFolder(
    _ folder: String, from address: String, _ options: Options = Options()
  ) async throws -> Summary {
    do {
      let source = PostgresPlace(try PostgresAddress(address), options)
      let connection = try source.connect()
      defer { connection.close() }
      let lock = try DataFolderLock(folder)
      defer { lock.release() }
      let (target, course) = (ArrivingFile(folder: folder), MoveCourse(options))
      switch try source.mark(on: connection) {
      case nil: break
      case let mark? where mark.state == .moved:
        guard try target.finish(mark.move) else { throw mark.refusal }
        try course.reached(.live)
        return Summary(wasFinished: true)
      case let mark?: throw mark.refusal
      }
      let silent = try source.living(on: connection)
      if !silent.isEmpty {
        try await Task.sleep(for: options.patience)
        try source.end(silent, on: connection)
      }
      return try move(source, connection, to: target, course)
    } catch {
      throw MoveCourse.error(error, options.control)
    }
  }

  /// Copies the store, and leaves the database unless this is a rehearsal. A commit of a coordinator that is made
  /// meanwhile, or one that starts, ends the move.
  /// - Parameter own: the coordinator that carries the move out; `nil` if none lives. It commits nothing meanwhile.
  static func move(
    _ source: PostgresPlace, _ connection: PostgresConnection, to target: ArrivingFile, own: Int64? = nil,
    _ course: MoveCourse
  ) throws -> Summary {
    let standing = try source.beginCopy(own: course.isRehearsal ? nil : own, on: connection, course)
    try target.demandNoOther(than: standing.store)
    let move = RandomNumbers.name()
    let rows = PostgresRowsOfMove(connection: connection, source, nextRequest: try source.nextRequest(on: connection))
    let mark = StoreMark(state: .arriving, move: move, place: source.place, store: standing.store)
    let summary = try target.make(mark) { db, shapes in
      let summary = try transfer(shapes, from: rows, to: FileRows(db: db), course)
      try FileMark.checkInvariants(db)
      try course.reached(.verified)
      return summary
    }
    try source.rollBack(on: connection)
    if course.isRehearsal {
      target.remove()
      return summary
    }
    try target.putInPlace()
    try course.reached(.arrived)
    try source.beginLeaving(standing, own: own, on: connection)
    try course.control.passPointOfNoReturn()
    try source.leave(
      StoreMark(state: .moved, move: move, place: target.folder, store: standing.store), on: connection)
    do {
      try course.reached(.left)
      guard try target.finish(move) else {
        throw StoreError(
          .corrupt, "The copy in \(target.folder) is gone; the store in \(source.name) is as it was copied.")
      }
    } catch {
      throw StoreError.unfinished(source.name, target.folder, error)
    }
    try course.reached(.live)
    return summary
  }
}
