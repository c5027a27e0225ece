internal import GRDB

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The database in a folder to which a store moves. The folder has to be locked.
struct ArrivingFile {
  let folder: String
  private var path: String { folder + "/" + StoreFolder.databaseName }
  private var part: String { path + ".arriving" }

  init(folder: String) { self.folder = folder }

  /// Throws `.refused` if the folder has a store, or the unfinished copy of another one.
  func demandNoOther(than store: String) throws {
    guard let file = FileIdentity(of: path), file.bytes > 0 else { return }
    let queue = try DatabaseQueue(path: path, configuration: SQLiteStore.configuration)
    defer { try? queue.close() }
    let (mark, tables) = try queue.read { db in
      (try FileMark.read(db), try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0)
    }
    switch mark?.state {
    case .moved: return
    case .arriving where mark?.store == store: return
    case .arriving:
      throw StoreError(
        .refused, "\(folder) has the copy of another store, whose move has not ended: choose another folder.")
    case nil:
      if tables == 0 { return }
      throw StoreError(.refused, "\(folder) has a store already: choose another folder, or move its files away.")
    }
  }

  /// Makes the copy under another name: its tables, what `body` puts in, and the mark.
  func make<Result>(_ mark: StoreMark, _ body: (Database, [TableShape]) throws -> Result) throws -> Result {
    remove()
    let file = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw StoreError(.cannotWrite, "\(part) cannot be made: \(String(cString: strerror(errno))).")
    }
    close(file)
    var configuration = SQLiteStore.configuration
    configuration.foreignKeysEnabled = false
    let queue = try DatabaseQueue(path: part, configuration: configuration)
    defer { try? queue.close() }
    do {
      return try fill(queue, mark, body)
    } catch {
      remove()
      throw error
    }
  }

  private func fill<Result>(
    _ queue: DatabaseQueue, _ mark: StoreMark, _ body: (Database, [TableShape]) throws -> Result
  ) throws -> Result {
    try Migrations.run(on: queue, incarnation: nil)
    return try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      let shapes = try TableShape.all(in: db)
      var result: Result?
      try db.inTransaction(.immediate) {
        result = try body(db, shapes)
        try db.checkForeignKeys()
        try FileMark.write(mark, to: db)
        return .commit
      }
      guard let result else { preconditionFailure("a copy was committed without having been made") }
      return result
    }
  }

  /// Removes what an earlier move has left under the other name.
  func remove() { for end in ["", "-journal", "-wal", "-shm"] { unlink(part + end) } }

  /// Gives the copy its name, in the place of a store that has moved or of an unfinished copy.
  func putInPlace() throws {
    for end in ["-wal", "-shm"] { unlink(path + end) }
    guard rename(part, path) == 0 else {
      throw StoreError(.cannotWrite, "\(path) cannot be made: \(String(cString: strerror(errno))).")
    }
    let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if file >= 0 { close(file) } }
    guard file >= 0, fsync(file) == 0 else {
      throw StoreError(.cannotWrite, "\(folder) cannot be synced: \(String(cString: strerror(errno))).")
    }
  }

  /// Makes the copy of this move the store. False if there is no such copy.
  func finish(_ move: String) throws -> Bool {
    guard let file = FileIdentity(of: path), file.bytes > 0 else { return false }
    let queue = try DatabaseQueue(path: path, configuration: SQLiteStore.configuration)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA synchronous = FULL")
      guard let mark = try FileMark.read(db), mark.state == .arriving, mark.move == move else { return false }
      try FileMark.remove(from: db)
      return true
    }
  }
}
