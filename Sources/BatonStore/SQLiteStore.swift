package import BatonModel
internal import CBatonSQLite
internal import GRDB
internal import Synchronization

/// The store on SQLite: one file in a folder that one process holds, or a database in memory with the same schema and
/// the same SQL.
///
/// Writes go through one connection in groups, each committed with `synchronous=FULL`; reads go beside them on
/// connections of their own and see the last commit.
package final class SQLiteStore: Sendable {
  private let database: any DatabaseWriter
  private let writer: GroupCommitWriter
  let limits: StoreLimits
  private let cache: DefinitionCache
  let queuesSpans: Bool
  /// Locked until this store is gone; nil in memory.
  private let folder: StoreFolder?
  /// The backup that is being written.
  private let backup = Mutex<BackupControl?>(nil)

  /// Opens or makes the store in `folder`. Throws `.locked` if a process holds it, `.newerVersion`, `.corrupt`,
  /// `.cannotWrite`, or `.refused` on a network file system.
  /// - Parameter queuesSpans: true if spans are sent from here: those that a backend has to confirm are then kept.
  package static func open(
    folder: String, limits: StoreLimits = StoreLimits(), queuesSpans: Bool = false, onGroup: GroupReport? = nil
  ) throws -> SQLiteStore {
    let folder = try StoreFolder(folder)
    do {
      let pool = try DatabasePool(path: folder.databasePath, configuration: configuration)
      try pool.writeWithoutTransaction(Durability.demand)
      if folder.databaseBytes <= largestLookedThrough { try pool.read { try lookThrough($0, "integrity_check") } }
      return try SQLiteStore(pool, folder, limits, incarnation: nil, queuesSpans: queuesSpans, onGroup: onGroup)
    } catch {
      throw StoreError(opening: folder.databasePath, error)
    }
  }

  /// A store that is gone with this value. `incarnation` is what it calls itself; drawn if nil.
  package static func inMemory(
    limits: StoreLimits = StoreLimits(), incarnation: String? = nil, queuesSpans: Bool = false
  ) throws -> SQLiteStore {
    try SQLiteStore(
      DatabaseQueue(configuration: configuration), nil, limits, incarnation: incarnation, queuesSpans: queuesSpans)
  }

  private init(
    _ database: any DatabaseWriter, _ folder: StoreFolder?, _ limits: StoreLimits, incarnation: String?,
    queuesSpans: Bool, onGroup: GroupReport? = nil
  ) throws {
    try Migrations.run(on: database, incarnation: incarnation)
    self.database = database
    self.folder = folder
    self.limits = limits
    self.queuesSpans = queuesSpans
    cache = DefinitionCache()
    writer = try GroupCommitWriter(
      database, limits: limits, cache: cache, queuesSpans: queuesSpans, folder: folder, onGroup: onGroup)
  }

  /// Once in a process, before its first connection.
  private static let sqliteStatus = baton_sqlite_configure()

  static var configuration: Configuration {
    _ = sqliteStatus
    var configuration = Configuration()
    configuration.label = "baton.store"
    configuration.prepareDatabase { db in
      // Debian's SQLite overwrites what it deletes unless told not to.
      try db.execute(sql: "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = OFF")
    }
    return configuration
  }

  /// A larger database is looked through when it is in use already (`verify`): a start takes less than a second.
  private static let largestLookedThrough = 64 << 20

  /// Looks through the whole database for damage, while it is in use. Throws `.corrupt` if there is some.
  package func verify() async throws {
    do {
      try await database.read { try Self.lookThrough($0, "quick_check") }
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// - Parameter check: `quick_check` looks at the structure of every page, `integrity_check` at the indexes too, which
  ///   takes longer (https://www.sqlite.org/pragma.html#pragma_integrity_check). What the rows say is nobody's matter.
  private static func lookThrough(_ db: Database, _ check: String) throws {
    let found = try String.fetchOne(db, sql: "PRAGMA \(check)(1)") ?? "no answer"
    guard found == "ok" else {
      throw StoreError(.corrupt, "The database is damaged (\(found)); restore it from a backup.")
    }
  }

  /// Tells once that the disk failed: every write since is answered `.unknown`, so the process should end and recover.
  package var failures: AsyncStream<StoreError> { writer.failures }

  /// How far the store is: whatever was answered before is in it for good.
  package var receipt: Receipt { writer.receipt }

  /// Throws `.superseded` if another process has opened the store since this one did, or its files were taken away. A
  /// write finds that out by itself; this is for a coordinator that has nothing to write.
  package func demandTenure() async throws {
    if let loss = folder?.loss { throw loss }
    let epoch = writer.epoch
    let found = try await read { try $0.prepare(.epoch).first { $0.int64(0) } }
    if found != epoch { throw StoreError.superseded }
  }

  package var writeStatistics: WriteStatistics { writer.statistics }

  /// Waits for the writes that were accepted, moves what is in the log into the database file, closes the database and
  /// gives the folder free. After that the database file alone is the whole store.
  /// - Parameter checkpointLimit: a checkpoint that takes longer is left to the next start, as after a kill.
  package func close(checkpointLimit: Duration = .seconds(5)) async throws {
    backup.withLock { $0?.stop() }
    // Once the disk has failed nothing is waited for, and the database is closed all the same.
    do {
      try await writer.perform(.urgent) { _ in }
      if folder != nil { await emptyLog(within: checkpointLimit) }
    } catch is StoreError {}
    try await writer.close()
    folder?.release()
  }

  /// What cannot be moved stays in the log, from where the next start reads it: nothing is lost.
  private func emptyLog(within limit: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [database] in
        if (try? await Task.sleep(for: limit)) != nil { database.interrupt() }
      }
      // After the readers: a snapshot that is still read keeps the log from being emptied.
      _ = try? await database.barrierWriteWithoutTransaction { try $0.checkpoint(.truncate) }
      group.cancelAll()
    }
  }

  /// Where the store is; nil in memory.
  var folderPath: String? { folder?.path }

  func claimBackup(_ control: BackupControl) throws {
    try backup.withLock { backup in
      guard backup == nil else { throw StoreError(.refused, "A backup is being written already; wait for its end.") }
      backup = control
    }
  }

  func releaseBackup() { backup.withLock { $0 = nil } }

  /// One snapshot for as long as `body` runs.
  func readAll<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await database.read(body)
  }

  /// Runs `body` in a transaction and blocks until it is committed. For the simulation, which calls the verbs one by
  /// one; a daemon calls the `Store` verbs.
  package func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try writer.performNow(body) }

  /// Keeps the writer's connection for as long as `body` runs, which opens its transactions with `Verbs.transaction`.
  /// For the simulation, where handing the connection over each time would be a tenth of its work.
  package func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    try writer.exclusively(body)
  }

  func write<Value: Sendable>(
    _ lane: WriteLane, _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    try await writer.perform(lane, body)
  }

  /// The same for a write that is withdrawn if its task is cancelled before the writer comes to it: it then throws
  /// `CancellationError`, and nothing was changed.
  func withdrawableWrite<Value: Sendable>(
    _ lane: WriteLane, _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    try await writer.perform(lane, isWithdrawable: true, body)
  }

  func read<Value: Sendable>(_ body: @escaping @Sendable (Verbs) throws -> Value) async throws -> Value {
    do {
      return try await database.read { [limits, cache] db in
        try body(Verbs(db, limits: limits, cache: cache, queuesSpans: false))
      }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw StoreError(anything: error)
    }
  }
}

/// What makes an answered commit survive a power cut.
enum Durability {
  /// GRDB sets `synchronous = NORMAL` when it opens a pool, after every hook it offers: FULL has to be set again
  /// afterwards, on the writer, and is checked at every start. With NORMAL a power cut loses acknowledged commits.
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
