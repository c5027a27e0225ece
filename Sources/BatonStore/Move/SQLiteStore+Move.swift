internal import BatonPostgres
internal import GRDB

extension SQLiteStore {
  package func move(
    to place: StorePlace, fleet: String?, _ options: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    guard case .postgres(let address) = place else {
      throw StoreError(.refused, "The store is in a folder: it moves to postgres://USER@HOST/DATABASE.")
    }
    guard let folder else { throw StoreError(.refused, "The store is in memory and cannot be moved.") }
    return try await moving.run(options) {
      let target = try StoreMove.place(address, options)
      if options.isRehearsal { return try await self.rehearse(folder.path, target, fleet, options) }
      try await self.look(at: target, options)
      // The row of the audit log belongs to what is copied.
      try await self.write(.urgent) { _ in }
      return try await self.writer.standStill { source in
        let course = MoveCourse(options)
        try course.control.demandGoingOn()
        let connection = try target.connect()
        defer { connection.close() }
        return try StoreMove.move(source, of: folder, to: target, connection, fleet: fleet, course)
      } ending: {
        StoreMove.ending(of: $0, target.name)
      }
    }
  }

  /// Copies and compares in a reading transaction, beside the writer.
  private func rehearse(
    _ folder: String, _ target: PostgresPlace, _ fleet: String?, _ options: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    try await readAll { source in
      let connection = try target.connect()
      defer { connection.close() }
      let mark = try StoreMark.arriving(of: source, from: folder)
      return try StoreMove.copy(source, mark, to: target, connection, fleet: fleet, MoveCourse(options))
    }
  }

  /// Finds out, while writes go on, whether the copy can be made.
  private func look(at target: PostgresPlace, _ options: StoreMove.Options) async throws {
    try await readAll { source in
      let connection = try target.connect()
      defer { connection.close() }
      try target.demandRoom(for: try FileMark.storeName(source), on: connection)
    }
  }
}

extension StoreMove {
  /// What writes are answered with after a move of a store that is in use; `nil` if the store has stayed.
  static func ending(of result: Result<Summary, any Error>, _ place: String) -> StoreError? {
    guard case .failure(let error) = result else { return .gone(to: place) }
    let known = StoreError(anything: error)
    // After an unknown outcome the next start finds out where the store is.
    return known.code == .relocated ? .gone(to: place) : known.code == .unknown ? known : nil
  }
}
