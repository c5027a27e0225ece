internal import BatonModel
internal import BatonPostgres
internal import Synchronization

extension PostgresStore {
  /// Beats. While the writer stands still, a connection of its own does it: a coordinator that does not beat is ended
  /// by others, and does not answer heartbeats.
  package func beat(_ reading: ClockReading?) async throws -> Beat {
    switch pause.state {
    case .none: try await beatInTurn(reading)
    case .beating(let connection): try await connection.beat(epoch, receipt.tenure)
    case .over(let error): throw error
    }
  }

  package func move(
    to place: StorePlace, fleet: String?, _ options: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    guard case .folder(let path) = place else {
      throw StoreError(.refused, "The store is in PostgreSQL: it moves to the data folder of its coordinator.")
    }
    guard let folder, let own = FileIdentity(of: folder.path), FileIdentity(of: path)?.isSameFile(as: own) == true
    else {
      throw StoreError(
        .refused,
        "A coordinator that runs moves the store to its own data folder only (\(folder?.path ?? "it has none")), where "
          + "the fleet's keys are. To move it elsewhere, stop the coordinator, and use --data.")
    }
    let (source, target) = (PostgresPlace(self.place, options), ArrivingFile(folder: folder.path))
    return try await moving.run(options) {
      let beats = try BeatConnection(self.place)
      defer { beats.end() }
      if options.isRehearsal { return try await beats.run { try Self.rehearse(source, target, options) } }
      try await beats.waitUntilAlone(self.epoch, source, options)
      // The row of the audit log belongs to what is copied.
      try await self.write(.urgent) { _ in }
      return try await self.leave(source, for: target, beats, options)
    }
  }

  private static func rehearse(
    _ source: PostgresPlace, _ target: ArrivingFile, _ options: StoreMove.Options
  ) throws -> StoreMove.Summary {
    let connection = try source.connect()
    defer { connection.close() }
    return try StoreMove.move(source, connection, to: target, MoveCourse(options))
  }

  private func leave(
    _ source: PostgresPlace, for target: ArrivingFile, _ beats: BeatConnection, _ options: StoreMove.Options
  ) async throws -> StoreMove.Summary {
    pause.begin(with: beats)
    do {
      // A beat that waits already is written before the writer stands still. Otherwise the core would wait for it.
      _ = try await writer.perform(.urgent) { _ in }
      return try await writer.standStill { [epoch, pause] _ in
        let course = MoveCourse(options)
        try course.control.demandGoingOn()
        let connection = try source.connect()
        defer { connection.close() }
        let result = Result { try StoreMove.move(source, connection, to: target, own: epoch, course) }
        if let error = StoreMove.ending(of: result, target.folder) { pause.end(for: error) }
        return try result.get()
      } ending: {
        StoreMove.ending(of: $0, target.folder)
      }
    } catch {
      pause.goOn()
      throw error
    }
  }
}

/// How a coordinator beats while a move lets its writer stand still.
final class WriterPause: Sendable {
  enum State {
    /// The writer does not stand still.
    case none
    case beating(BeatConnection)
    /// The store has left.
    case over(StoreError)
  }

  private let current = Mutex(State.none)

  var state: State { current.withLock { $0 } }
  func begin(with connection: BeatConnection) { current.withLock { $0 = .beating(connection) } }
  func end(for error: StoreError) { current.withLock { $0 = .over(error) } }

  /// The store has stayed, unless `end` says otherwise.
  func goOn() { current.withLock { if case .beating = $0 { $0 = .none } } }
}

/// A connection for beats, on a thread of its own.
final class BeatConnection: Sendable {
  private let server: PostgresServer
  private let thread: PostgresThread

  init(_ server: PostgresServer) throws {
    self.server = server
    thread = try PostgresThread(name: "baton-beat")
  }

  /// The thread ends when it has nothing more to do.
  func end() {
    Task { [thread] in await thread.end() }
  }

  /// Runs `body` on the thread.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withConnection { _ in try body() }
  }

  /// Runs `body` with the connection, which is made when it is missing.
  private func withConnection<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    do {
      return try await thread.run { connection in try body(connection) }
    } catch let error as PostgresError where error.kind == .brokenConnection {
      do {
        try await thread.connect { [server] in try server.connect() }
        return try await thread.run { connection in try body(connection) }
      } catch {
        throw StoreError(anything: error)
      }
    } catch {
      throw StoreError(anything: error)
    }
  }

  /// Raises the beat of a coordinator, as `Verbs.beat` does, and reads the others.
  /// - Throws: `.superseded` if its tenure has ended.
  func beat(_ epoch: Int64, _ tenure: Int64) async throws -> Beat {
    try await withConnection { [server] connection in
      let rows = try server.run(
        [
          PostgresStatement(
            """
            UPDATE coordinator c SET beat = beat + 1 WHERE epoch = $1 AND tenure = $2 AND is_ended = 0
            RETURNING (SELECT coalesce(steward, 0) FROM store WHERE id = 1)
            """, [.integer(epoch), .integer(tenure)]),
          PostgresStatement(
            "SELECT epoch, address, beat FROM coordinator WHERE is_ended = 0 AND epoch <> $1 ORDER BY epoch",
            [.integer(epoch)]),
        ], on: connection)
      guard rows[0].count == 1 else { throw StoreError.takenOver }
      let others = try (0..<rows[1].count).map {
        Beat.Other(
          epoch: try rows[1].integer($0, 0), address: try rows[1].text($0, 1), beat: try rows[1].integer($0, 2))
      }
      return Beat(isSteward: try rows[0].integer(0, 0) == epoch, living: others)
    }
  }

  /// Returns when no other coordinator lives. One that was killed is ended by this coordinator meanwhile.
  /// - Throws: `.refused` with the addresses of those that live.
  func waitUntilAlone(_ epoch: Int64, _ place: PostgresPlace, _ options: StoreMove.Options) async throws {
    let deadline = ContinuousClock.now + options.patience * 4 / 3
    while true {
      let others = try await withConnection { try place.living(on: $0) }.filter { $0.epoch != epoch }
      if others.isEmpty { return }
      guard ContinuousClock.now < deadline else { throw place.inUse(by: others) }
      try await Task.sleep(for: .milliseconds(200))
    }
  }
}
