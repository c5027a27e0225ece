package import BatonModel
internal import CBatonSQLite
internal import GRDB
internal import Synchronization

/// The store on SQLite: a database file in a folder that this process has locked, or a database in memory with the same
/// schema and the same SQL.
///
/// Writes go through one connection and are committed in groups with `synchronous=FULL`. Reads use connections of their
/// own, run at the same time as writes, and see the last commit.
package final class SQLiteStore: VerbStore {
  /// The store, or the database in memory that several stores share.
  let database: any DatabaseWriter
  let writer: GroupCommitWriter
  /// The rows and locks of a store whose groups load what they need; `nil` if the writer's connection has the whole
  /// store.
  let server: SharedRows?
  package let limits: StoreLimits
  private let cache: DefinitionCache
  package let queuesSpans: Bool
  package let isShared: Bool
  /// The folder, which stays locked until the store is closed; `nil` for a store in memory.
  let folder: StoreFolder?
  /// The backup that is being written; `nil` if there is none.
  private let backup = Mutex<BackupControl?>(nil)
  /// The move that is under way.
  let moving = MoveTurn()

  /// Opens the store in `folder`, or makes a new store there. This raises the epoch, so another process that has the
  /// same store open can write nothing more.
  /// - Parameters:
  ///   - queuesSpans: true if this process sends spans. Spans are then kept until a backend has confirmed them.
  ///   - onGroup: called after each group of writes, for metrics.
  /// - Throws: `.locked` if another process has the store open, `.refused` on a network file system or if the database
  ///   has several names, `.newerVersion`, `.corrupt`, or `.cannotWrite`.
  package static func open(
    folder: String, limits: StoreLimits = StoreLimits(), queuesSpans: Bool = false, onGroup: GroupReport? = nil
  ) throws -> SQLiteStore {
    let folder = try StoreFolder(folder)
    do {
      let pool = try DatabasePool(path: folder.databasePath, configuration: configuration)
      try pool.writeWithoutTransaction(Durability.demand)
      if folder.databaseBytes <= largestLookedThrough { try pool.read { try lookThrough($0, "integrity_check") } }
      return try SQLiteStore(
        pool, folder, limits, incarnation: nil, queuesSpans: queuesSpans, isShared: false, onGroup: onGroup)
    } catch {
      throw StoreError(opening: folder.databasePath, error)
    }
  }

  /// Makes a new store in memory. Its contents are gone when this value is released.
  /// - Parameters:
  ///   - incarnation: the store's incarnation; a random one if it is `nil`.
  ///   - isShared: true if `another` will open the store too.
  package static func inMemory(
    limits: StoreLimits = StoreLimits(), incarnation: String? = nil, queuesSpans: Bool = false, isShared: Bool = false
  ) throws -> SQLiteStore {
    try SQLiteStore(
      DatabaseQueue(configuration: configuration), nil, limits, incarnation: incarnation, queuesSpans: queuesSpans,
      isShared: isShared)
  }

  /// Makes a new store in memory whose groups of writes lock and load the rows that they need, as on a database
  /// elsewhere (`WorkingSet`).
  /// - Parameter ignored: the locks that are not taken, for a test that proves that they are needed.
  static func onLoadedRows(
    limits: StoreLimits = StoreLimits(), queuesSpans: Bool = false, isShared: Bool = true,
    ignoring ignored: Set<RowLock.Table> = []
  ) throws -> SQLiteStore {
    let database = try DatabaseQueue(configuration: configuration)
    try Migrations.run(on: database, incarnation: nil)
    return try SQLiteStore(
      database, nil, limits, incarnation: nil, queuesSpans: queuesSpans, isShared: isShared,
      server: SharedRows(database, ignoring: ignored))
  }

  /// Opens this store in memory once more, as another coordinator would. Both must have been made with `isShared`.
  package func another() throws -> SQLiteStore {
    precondition(isShared && folder == nil, "only a shared store in memory can be opened twice")
    return try SQLiteStore(
      database, nil, limits, incarnation: nil, queuesSpans: queuesSpans, isShared: true, server: server)
  }

  /// Opens a store in memory once more, as a coordinator with other settings would.
  static func another(of store: SQLiteStore, limits: StoreLimits) throws -> SQLiteStore {
    try SQLiteStore(
      store.database, nil, limits, incarnation: nil, queuesSpans: store.queuesSpans, isShared: true,
      server: store.server)
  }

  private init(
    _ database: any DatabaseWriter, _ folder: StoreFolder?, _ limits: StoreLimits, incarnation: String?,
    queuesSpans: Bool, isShared: Bool, server: SharedRows? = nil, onGroup: GroupReport? = nil
  ) throws {
    self.server = server
    self.isShared = isShared
    try Migrations.run(on: database, incarnation: incarnation)
    self.database = database
    self.folder = folder
    self.limits = limits
    self.queuesSpans = queuesSpans
    cache = DefinitionCache()
    writer = try GroupCommitWriter(
      server == nil ? database : WorkingSet.database(), limits: limits, cache: cache, queuesSpans: queuesSpans,
      isShared: isShared, folder: folder, server: server, onGroup: onGroup)
  }

  package func demandRoom() async throws -> Bool {
    guard let folder else { return true }
    // Not on a thread of the tasks, because a disk may take its time.
    return try await read { _ in
      try folder.demandRoom()
      return true
    }
  }

  /// Configures SQLite. It runs once in a process, before the process opens its first connection.
  private static let sqliteStatus = baton_sqlite_configure()

  static var configuration: Configuration {
    _ = sqliteStatus
    var configuration = Configuration()
    configuration.label = "baton.store"
    configuration.prepareDatabase { db in
      // SQLite of Debian overwrites deleted data with zeros unless `secure_delete` is off.
      try db.execute(sql: "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF")
    }
    return configuration
  }

  /// The largest database, in bytes, that `open` checks for damage. A larger database is checked later, while it is in
  /// use (`verify`), so that a start takes less than a second.
  private static let largestLookedThrough = 64 << 20

  /// Checks the whole database for damage while it is in use. Throws `.corrupt` if it is damaged.
  package func verify() async throws {
    do {
      try await readAll { try Self.lookThrough($0, "quick_check") }
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// - Parameter check: `quick_check` checks the structure of every page; `integrity_check` checks the indexes too,
  ///   which takes longer (https://www.sqlite.org/pragma.html#pragma_integrity_check). Neither compares the contents of
  ///   rows with Baton's own rules.
  private static func lookThrough(_ db: Database, _ check: String) throws {
    let found = try String.fetchOne(db, sql: "PRAGMA \(check)(1)") ?? "no answer"
    guard found == "ok" else {
      throw StoreError(.corrupt, "The database is damaged (\(found)); restore it from a backup.")
    }
  }

  /// Yields once, when the disk has failed. Every later write is answered with `.unknown`, so the process should end
  /// and recover when it is started again.
  package var failures: AsyncStream<StoreError> { writer.failures }

  /// How many commits this store has made. Every change that was acknowledged before is durable and counted.
  package var receipt: Receipt { writer.receipt }

  /// The number of this coordinator's tenure.
  package var epoch: Int64 { writer.epoch }

  /// Throws `.superseded` if another process has opened the store since this process did, or if the store's files were
  /// removed or replaced. A write notices this by itself; this function is for a coordinator that has nothing to write.
  package func demandTenure() async throws {
    if let loss = folder?.loss { throw loss }
    let (epoch, tenure) = (epoch, receipt.tenure)
    let isEnded = try await read { try $0.prepare(.ownTenure).first(epoch, tenure) { $0.bool(1) } }
    if isEnded ?? true { throw StoreError.superseded }
  }

  package var writeStatistics: WriteStatistics { writer.statistics }

  /// Waits for the writes that were accepted, moves the contents of the write-ahead log into the database file, closes
  /// the database, and releases the lock of the folder. Afterwards the database file alone is the whole store.
  /// - Parameter checkpointLimit: the longest time for moving the log. If it takes longer, the log stays, and the next
  ///   start reads it, as after a kill.
  package func close(checkpointLimit: Duration) async throws {
    backup.withLock { $0?.stop() }
    moving.stop()
    // After the disk has failed, there is nothing to wait for; the database is closed nevertheless.
    do {
      try await writer.perform(.urgent) { _ in }
      if folder != nil { await emptyLog(within: checkpointLimit) }
    } catch is StoreError {}
    try await writer.close()
    folder?.release()
  }

  package func close() async throws { try await close(checkpointLimit: .seconds(5)) }

  /// Moves the contents of the write-ahead log into the database file. Contents that cannot be moved within `limit`
  /// stay in the log. The next start reads them from there, so nothing is lost.
  private func emptyLog(within limit: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [database] in
        if (try? await Task.sleep(for: limit)) != nil { database.interrupt() }
      }
      // The barrier waits for all readers first: SQLite cannot empty the log while a snapshot is being read.
      _ = try? await database.barrierWriteWithoutTransaction { try $0.checkpoint(.truncate) }
      group.cancelAll()
    }
  }

  /// The path of the store's folder; `nil` for a store in memory.
  var folderPath: String? { folder?.path }

  /// Registers the running backup. Throws `.refused` if another backup is being written.
  func claimBackup(_ control: BackupControl) throws {
    try backup.withLock { backup in
      guard backup == nil else { throw StoreError(.refused, "A backup is being written already; wait for its end.") }
      backup = control
    }
  }

  func releaseBackup() { backup.withLock { $0 = nil } }

  /// Runs `body` on a reading connection, with one snapshot for as long as `body` runs.
  ///
  /// GRDB interrupts the statement that runs when the task is cancelled. The interruption is no failure of the disk,
  /// which would end the process.
  /// - Throws: what `body` throws; `CancellationError` if the task was cancelled; `.unavailable` if the store is being
  ///   closed.
  func readAll<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    do {
      return try await database.read(body)
    } catch let error as DatabaseError where [.SQLITE_INTERRUPT, .SQLITE_ABORT].contains(error.resultCode) {
      if Task.isCancelled { throw CancellationError() }
      throw StoreError(.unavailable, "The store is being closed and answers nothing more. Nothing was changed.")
    }
  }

  /// Runs `body` in a transaction and blocks until it is committed. The simulation uses it, because it calls the verbs
  /// one by one. Daemons use the `Store` verbs.
  package func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try writer.performNow(body) }

  /// As `transaction`, with what `body` is known to need.
  func transaction<Value>(needing needs: KnownNeeds, _ body: (Verbs) throws -> Value) throws -> Value {
    try writer.performNow(needing: needs, body)
  }

  /// A second set of verbs on the connection of `verbs`, for a coordinator of the simulation: it has a tenure and a
  /// memory of its own. Both must not be in a transaction at the same time.
  package static func another(
    on verbs: Verbs, isShared: Bool, namespaces: Namespaces = Namespaces()
  ) -> Verbs {
    var limits = verbs.limits
    limits.namespaces = namespaces
    return Verbs(
      verbs.db, limits: limits, cache: DefinitionCache(), queuesSpans: verbs.queuesSpans, isShared: isShared)
  }

  /// A copy of everything in the store of `verbs`, for a simulated store that is set back. Call it outside of
  /// transactions.
  package static func copy(of verbs: Verbs) throws -> StoreCopy {
    let database = try DatabaseQueue()
    try database.writeWithoutTransaction { try verbs.db.backup(to: $0) }
    return StoreCopy(database: database)
  }

  /// Sets the store of `verbs` back to a copy.
  package static func setBack(_ verbs: Verbs, to copy: StoreCopy) throws {
    try copy.database.writeWithoutTransaction { try $0.backup(to: verbs.db) }
  }

  /// Keeps the writer's connection for as long as `body` runs; `body` starts its transactions with `Verbs.transaction`.
  /// The simulation uses it, where handing over the connection for each transaction would be a tenth of the work.
  package func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    try writer.exclusively(body)
  }

  package func perform<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool, needing needs: KnownNeeds,
    _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    try await writer.perform(lane, isWithdrawable: isWithdrawable, needing: needs, body)
  }

  package func read<Value: Sendable>(_ body: @escaping @Sendable (Verbs) throws -> Value) async throws -> Value {
    do {
      return try await readAll { [limits, cache] db in
        try body(Verbs(db, limits: limits, cache: cache, queuesSpans: false, isShared: true))
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw StoreError(anything: error)
    }
  }
}

/// What was in a store at some time.
package struct StoreCopy: Sendable { fileprivate let database: DatabaseQueue }

/// The settings that make a commit that was answered survive a power loss.
enum Durability {
  /// Sets `synchronous = FULL` on the writer's connection, and throws `.cannotWrite` unless SQLite reports it. GRDB
  /// sets `synchronous = NORMAL` when it opens a pool, after all hooks that it offers, so FULL has to be set again
  /// afterwards and is checked at every start. With NORMAL a power loss could lose acknowledged commits.
  static func demand(_ db: Database) throws {
    try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = \(64 << 20)")
    let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
    let journal = try String.fetchOne(db, sql: "PRAGMA journal_mode")
    guard synchronous == 2, journal == "wal" else {
      throw StoreError(
        .cannotWrite, "SQLite refuses durable commits (synchronous \(synchronous ?? -1), journal \(journal ?? "none"))."
      )
    }
  }
}

extension StoreError {
  fileprivate init(opening path: String, _ error: any Error) {
    self.init(anything: error)
    if !(error is StoreError) || code == .corrupt || code == .newerVersion { message = "\(path): \(message)" }
  }
}
