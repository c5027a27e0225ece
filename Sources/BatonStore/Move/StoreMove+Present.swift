internal import BatonModel
internal import BatonPostgres
internal import GRDB

extension StoreMove {
  /// Opens the store where the settings of its coordinator say; or where it has moved since, maybe several times, if
  /// a coordinator has carried that out and is started again with the same settings.
  /// - Parameters:
  ///   - place: where the settings say that the store is.
  ///   - dataFolder: the coordinator's data folder, which no other process may use.
  /// - Returns: what `open` returned, and the place where it succeeded.
  /// - Throws: what `open` throws.
  package static func open<Store>(
    _ place: StorePlace, dataFolder: String, _ options: Options = Options(), _ open: (StorePlace) throws -> Store
  ) throws -> (Store, at: StorePlace) {
    var (place, left) = (place, Set<StorePlace>())
    while true {
      do {
        return (try open(place), at: place)
      } catch let refusal as StoreError where refusal.code == .refused {
        // Marks that lead in a circle contradict each other.
        guard left.insert(place).inserted, let next = try present(insteadOf: place, dataFolder: dataFolder, options)
        else {
          throw refusal
        }
        place = next
      }
    }
  }

  /// Finds out where the store is, for a coordinator that has found the mark of a move where its settings say. A move
  /// that was killed after its point of no return is finished here.
  /// - Parameters:
  ///   - place: where the settings say that the store is.
  ///   - dataFolder: the coordinator's data folder, which no other process may use.
  /// - Returns: where the coordinator can start, or where the store was next and has left too. `nil` if a person has to
  ///   decide that: the store is in a folder that is not the coordinator's own, or the two places contradict each
  ///   other.
  package static func present(
    insteadOf place: StorePlace, dataFolder: String, _ options: Options = Options()
  ) throws -> StorePlace? {
    try run(options) { _ in
      switch place {
      case .folder(let folder): try present(insteadOf: folder, options)
      case .postgres(let address): try present(insteadOf: address, dataFolder, options)
      }
    }
  }

  private static func present(insteadOf folder: String, _ options: Options) throws -> StorePlace? {
    let lock = try DataFolderLock(folder)
    defer { lock.release() }
    guard let mark = try mark(in: folder), PostgresAddress.isURI(mark.place) else { return nil }
    let there = PostgresPlace(try PostgresAddress(mark.place), options)
    let connection = try there.connect()
    defer { connection.close() }
    guard let other = try there.mark(on: connection) else {
      // Either the store has arrived there, or it has not left.
      return try there.has(store: mark.store, on: connection) ? .postgres(mark.place) : nil
    }
    guard other.move == mark.move else { return mark.isFollowed(by: other) ? .postgres(mark.place) : nil }
    switch (mark.state, other.state) {
    case (.moved, .arriving): return try there.finish(mark.move, on: connection) ? .postgres(mark.place) : nil
    case (.arriving, .moved): return try ArrivingFile(folder: folder).finish(mark.move) ? .folder(folder) : nil
    case (.moved, .moved), (.arriving, .arriving): return nil
    }
  }

  private static func present(
    insteadOf address: String, _ folder: String, _ options: Options
  ) throws -> StorePlace? {
    let there = PostgresPlace(try PostgresAddress(address), options)
    let connection = try there.connect()
    defer { connection.close() }
    guard let mark = try there.mark(on: connection), let own = FileIdentity(of: folder),
      FileIdentity(of: mark.place)?.isSameFile(as: own) == true
    else { return nil }
    let lock = try DataFolderLock(folder)
    defer { lock.release() }
    guard let other = try self.mark(in: folder) else {
      return try mark.state == .moved && has(store: mark.store, in: folder) ? .folder(folder) : nil
    }
    guard other.move == mark.move else { return mark.isFollowed(by: other) ? .folder(folder) : nil }
    switch (mark.state, other.state) {
    case (.moved, .arriving): return try ArrivingFile(folder: folder).finish(mark.move) ? .folder(folder) : nil
    case (.arriving, .moved): return try there.finish(mark.move, on: connection) ? .postgres(address) : nil
    case (.moved, .moved), (.arriving, .arriving): return nil
    }
  }

  /// The mark in the folder's database; `nil` if there is none.
  private static func mark(in folder: String) throws -> StoreMark? { try read(folder) { try FileMark.read($0) } ?? nil }

  private static func has(store: String, in folder: String) throws -> Bool {
    try read(folder) { try FileMark.has(store: store, $0) } ?? false
  }

  private static func read<Value>(_ folder: String, _ body: (Database) throws -> Value) throws -> Value? {
    let path = folder + "/" + StoreFolder.databaseName
    guard let file = FileIdentity(of: path), file.bytes > 0 else { return nil }
    let queue = try DatabaseQueue(path: path, configuration: SQLiteStore.configuration)
    defer { try? queue.close() }
    return try queue.read(body)
  }
}
