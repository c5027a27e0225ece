internal import BatonBase
package import BatonModel
internal import BatonPostgres
internal import GRDB

/// The store on PostgreSQL, which several coordinators can have open at the same time.
///
/// Writes go through one connection and are committed in groups. The verbs of a group run on the rows that it has
/// locked and loaded (`WorkingSet`), and what they changed is stored in one exchange. Reads use connections of their
/// own.
///
/// A commit that was answered is on the server's disk. Whether it survives the loss of that server depends on the
/// server's replication (`synchronous_standby_names`). If commits are lost with a server, the next write or the next
/// hello of a worker notices it, and the fleet is paused (promise P12).
package final class PostgresStore: VerbStore {
  let writer: GroupCommitWriter
  let server: PostgresRowServer
  let place: PostgresServer
  private let readers: PostgresReaders
  private let blockingReader = BlockingReader()
  private let cache: DefinitionCache
  /// `nil` if no data folder belongs to the store.
  let folder: DataFolderLock?
  /// The move that is under way, and how this coordinator beats meanwhile.
  let (moving, pause) = (MoveTurn(), WriterPause())
  /// How the server's history has changed since the last start of a coordinator; `nil` if it has not.
  package let history: PostgresHistory?
  package let limits: StoreLimits
  package let queuesSpans: Bool
  package var isShared: Bool { true }

  /// Opens the store for a coordinator, as the other `open` does.
  /// - Parameters:
  ///   - address: `postgres://…`, or libpq's `key=value` form.
  ///   - folder: the coordinator's data folder, which stays locked until the store is closed.
  /// - Throws: also `.refused` if the address is not one, and `.locked` if another process uses the folder.
  package static func open(
    address: String, folder: String, limits: StoreLimits, queuesSpans: Bool, onGroup: GroupReport?
  ) throws -> PostgresStore {
    let lock = try DataFolderLock(folder)
    do {
      return try open(
        try PostgresAddress(address), limits: limits, queuesSpans: queuesSpans, folder: lock, onGroup: onGroup)
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// Opens the store in a database, and makes its tables if the database has none.
  /// - Parameters:
  ///   - queuesSpans: true if this process sends spans. Spans are then kept until a backend has confirmed them.
  ///   - onGroup: called after each group of writes, for metrics.
  /// - Throws: `.unavailable` if the server cannot be reached, `.refused` with what a person has to change,
  ///   `.newerVersion`, or `.corrupt`.
  static func open(
    _ address: PostgresAddress, limits: StoreLimits = StoreLimits(), postgres: PostgresLimits = PostgresLimits(),
    queuesSpans: Bool = false, folder: DataFolderLock? = nil, trial: PostgresTrial = PostgresTrial(),
    onGroup: GroupReport? = nil
  ) throws -> PostgresStore {
    let server = PostgresServer(address: address, limits: postgres, trial: trial)
    let history = try PostgresMigrations(server: server).run(RandomNumbers.name())
    return try PostgresStore(server, limits, history, queuesSpans: queuesSpans, folder: folder, onGroup: onGroup)
  }

  /// Which files of a fleet were in a coordinator's data folder before it started.
  package struct FleetFiles: Sendable {
    package var hasKey: Bool
    package var hasAuthority: Bool

    package init(hasKey: Bool, hasAuthority: Bool) { (self.hasKey, self.hasAuthority) = (hasKey, hasAuthority) }
  }

  /// Throws `.refused` unless the data folder and the store belong together. Otherwise a copied file that is missing,
  /// or a wrong address, would divide a fleet: workers and operators of one part would not recognise the other part.
  /// - Parameters:
  ///   - fleet: a text that all coordinators of a fleet have, and no others.
  ///   - folder: the data folder.
  ///   - patience: how long a coordinator may stand still until it counts as dead. Those that live beat each second.
  package func demand(
    fleet: String, folder: String, _ files: FleetFiles, patience: Duration = .seconds(6)
  ) throws {
    let migrations = PostgresMigrations(server: place)
    // A coordinator with both files has served before, and not with this store.
    switch try migrations.owner(for: fleet, takesIt: !files.hasKey || !files.hasAuthority) {
    case .thisFleet: break
    case .unowned:
      throw StoreError(
        .refused,
        "\(folder) has the files of a fleet, and the store in \(place.address.redacted) is new: is the address right? "
          + "'baton store move' moves a store there. To begin with an empty store, remove receipt.key from the folder")
    case .anotherFleet:
      throw StoreError(
        .refused,
        "the store belongs to another fleet: copy authority.pem and receipt.key from the data folder of one of its "
          + "coordinators to \(folder), or give this coordinator a database of its own")
    }
    guard !files.hasAuthority,
      let other = try migrations.livingCoordinator(besides: epoch, patience: patience)
    else { return }
    throw StoreError(
      .refused,
      "\(folder) has no authority.pem, and another coordinator of the fleet runs (\(other)): copy its authority.pem "
        + "there. To replace a lost one, stop the other coordinators first")
  }

  /// Ends the tenure of a coordinator that could not start, so that no other one waits for it.
  package func abandon() { try? transaction { try $0.leave() } }

  private init(
    _ server: PostgresServer, _ limits: StoreLimits, _ history: PostgresHistory?, queuesSpans: Bool,
    folder: DataFolderLock?, onGroup: GroupReport?
  ) throws {
    self.history = history
    (self.limits, self.queuesSpans, self.folder, place) = (limits, queuesSpans, folder, server)
    cache = DefinitionCache()
    let workingSet = try WorkingSet.database()
    let shapes = try workingSet.read { try TableShape.all(in: $0) }
    self.server = PostgresRowServer(server, shapes)
    readers = try PostgresReaders(server)
    writer = try GroupCommitWriter(
      workingSet, limits: limits, cache: cache, queuesSpans: queuesSpans, isShared: true, folder: nil,
      server: self.server, onGroup: onGroup)
  }

  package var failures: AsyncStream<StoreError> { writer.failures }
  package var receipt: Receipt { writer.receipt }
  package var epoch: Int64 { writer.epoch }
  package var writeStatistics: WriteStatistics { writer.statistics }

  package func demandRoom() async throws -> Bool { false }

  package func demandTenure() async throws {
    let (epoch, tenure) = (epoch, receipt.tenure)
    let isEnded = try await read { try $0.prepare(.ownTenure).first(epoch, tenure) { $0.bool(1) } }
    if isEnded ?? true { throw StoreError.superseded }
  }

  package func read<Value: Sendable>(_ body: @escaping @Sendable (Verbs) throws -> Value) async throws -> Value {
    try await readers.read { [limits, cache] source in
      try body(Verbs(source, limits: limits, cache: cache, queuesSpans: false, isShared: true))
    }
  }

  package func perform<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool, needing needs: KnownNeeds,
    _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    try await writer.perform(lane, isWithdrawable: isWithdrawable, needing: needs, body)
  }

  /// As `SQLiteStore.transaction`: blocks until `body` is committed. `body` sees the rows that its verbs ask for, so
  /// verbs that only read need `readNow`.
  package func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try writer.performNow(body) }

  /// As `transaction`, with what `body` is known to need.
  func transaction<Value>(needing needs: KnownNeeds, _ body: (Verbs) throws -> Value) throws -> Value {
    try writer.performNow(needing: needs, body)
  }

  /// As `read`, and blocks until `body` has run. For tests without concurrency: it has one caller at a time, and
  /// a connection of its own, which the first call makes.
  package func readNow<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    let connection = try blockingReader.connection ?? place.connect()
    blockingReader.connection = connection
    return try PostgresReaders.snapshot(on: connection, of: place) {
      try body(Verbs($0, limits: limits, cache: cache, queuesSpans: false, isShared: true))
    }
  }

  /// `@unchecked Sendable`: `readNow` has one caller at a time.
  private final class BlockingReader: @unchecked Sendable { var connection: PostgresConnection? }

  /// As `SQLiteStore.exclusively`.
  func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value { try writer.exclusively(body) }

  /// PostgreSQL checks its pages itself when it reads them (`data_checksums`). This reads what every start needs.
  package func verify() async throws { _ = try await fleet() }

  package func backUp(
    to path: String, _ report: @escaping @Sendable (BackupProgress) -> Void
  ) async throws -> BackupSummary {
    throw StoreError(
      .refused, "The store is in PostgreSQL: back it up with PostgreSQL's own tools (pg_basebackup, pg_dump).")
  }

  /// Ends the tenure and closes the connections. Other coordinators take over at once then, and not only when this one
  /// seems to stand still. Urgent writes that were accepted are made first; others may be answered with `.superseded`.
  ///
  /// If a commit is under way whose outcome is unknown, this looks for it for as long as one exchange may take. Then
  /// the write is answered with `.unknown`.
  package func close() async throws {
    moving.stop()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [writer] in _ = try? await writer.perform(.urgent) { try $0.leave() } }
      group.addTask { [server, limit = place.limits.exchange] in
        if (try? await Task.sleep(for: limit)) != nil { server.close() }
      }
      // The writer is idle, or has given up; either way nothing has to be waited for any more.
      await group.next()
      group.cancelAll()
    }
    server.close()
    try await writer.close()
    server.end()
    blockingReader.connection?.close()
    await readers.end()
    folder?.release()
  }
}
