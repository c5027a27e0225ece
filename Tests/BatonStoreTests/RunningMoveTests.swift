import BatonModel
import BatonPostgres
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BatonStore

/// A store moves while its coordinator uses it: writes wait, reads go on, and there is one store at every moment.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.hint)) struct RunningMoveTests {
  private final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "baton-move-\(UUID().uuidString)").path
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private struct Killed: Error {}

  private let folder = Folder()
  private var data: String { folder.path + "/data" }

  private func options(
    rehearses: Bool = false, at step: StoreMove.Step? = nil, _ hook: @escaping @Sendable () throws -> Void = {}
  ) -> StoreMove.Options {
    var options = StoreMove.Options()
    (options.isRehearsal, options.demandsDurability, options.patience) = (rehearses, false, .milliseconds(1))
    options.reached = { if $0 == step { try hook() } }
    return options
  }

  /// Fills a store with a request that runs and one that is ready.
  private func fill(_ store: some VerbStore) async throws -> (DefinitionID, LaunchKey) {
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let launch = try await store.start(definition)
    try await store.submit("com.b", to: definition)
    return (definition, launch)
  }

  /// A store in the folder, or in a database, with work in it.
  private func inFolder() async throws -> (SQLiteStore, DefinitionID, LaunchKey) {
    let store = try SQLiteStore.open(folder: data, queuesSpans: true)
    let (definition, launch) = try await fill(store)
    return (store, definition, launch)
  }

  private func inDatabase(_ address: PostgresAddress) async throws -> (PostgresStore, DefinitionID, LaunchKey) {
    let store = try PostgresStore.open(
      address, postgres: TestDatabase.limits, folder: try DataFolderLock(data))
    let (definition, launch) = try await fill(store)
    return (store, definition, launch)
  }

  /// Where a coordinator starts whose settings say `place`; `nil` if it is refused.
  private func start(_ place: StorePlace) throws -> StorePlace? {
    try StoreMove.present(insteadOf: place, dataFolder: data, options())
  }

  private func isLive(folder: String) throws -> Bool {
    let queue = try DatabaseQueue(path: folder + "/baton.sqlite", configuration: SQLiteStore.configuration)
    defer { try? queue.close() }
    return try queue.read { try FileMark.read($0) == nil && $0.tableExists("request") }
  }

  private func isLive(_ address: PostgresAddress) throws -> Bool {
    let place = PostgresPlace(address, options())
    let connection = try place.connect()
    defer { connection.close() }
    let exists = PostgresStatement("SELECT to_regclass('request') IS NOT NULL")
    return try place.mark(on: connection) == nil
      && connection.run(exists, deadline: .now + .seconds(30)).integer(0, 0) == 1
  }

  // MARK: Acting in the middle of a move

  /// Something asynchronous that begins within a step of a move, which is called on a thread of the system.
  private final class Act<Value: Sendable>: Sendable {
    private let task = Mutex<Task<Value, any Error>?>(nil)
    private let body: @Sendable () async throws -> Value
    init(_ body: @escaping @Sendable () async throws -> Value) { self.body = body }

    func begin() { task.withLock { $0 = Task { [body] in try await body() } } }

    /// Begins, and waits for the end.
    func complete() throws {
      let end = DispatchSemaphore(value: 0)
      begin()
      let task = task.withLock { $0 }
      Task {
        _ = await task?.result
        end.signal()
      }
      // Without this bound a test would hang in which the act waits for the move.
      #expect(end.wait(timeout: .now() + 20) == .success, "it waits for the move")
    }

    var result: Result<Value, any Error>? { get async { await task.withLock { $0 }?.result } }
  }

  private func code(_ result: Result<some Sendable, any Error>?) -> StoreError.Code? {
    guard case .failure(let error as StoreError) = result else { return nil }
    return error.code
  }

  // MARK: To PostgreSQL

  @Test func writesWaitForTheMoveAndReadsGoOn() async throws {
    let (store, definition, launch) = try await inFolder()
    let address = try TestDatabase.empty()
    let write = Act { try await store.submit("com.c", to: definition) }
    let read = Act { try await store.request(JobIdentifier("com.a")!, number: nil)?.state }
    let summary = try await store.move(
      to: .postgres(address.withoutSecrets), fleet: "ours",
      options(at: .copied) {
        write.begin()
        try read.complete()
      })
    #expect(summary.requests == 2)
    #expect(try await read.result?.get() == .running)
    // The write waited, and is not in either store.
    #expect(code(await write.result) == .unavailable)
    #expect(await refusal { _ = try await store.submit("com.d", to: definition) }?.code == .unavailable)
    try await store.close()
    #expect(try !isLive(folder: data) && isLive(address))
    let moved = try TestDatabase.open(address)
    #expect(try await moved.assignments(on: someHost).map(\.launch) == [launch])
    #expect(try await moved.request(JobIdentifier("com.c")!, number: nil) == nil)
    try await moved.leave()
    try await moved.close()
  }

  @Test func aMoveThatFailsLetsTheWritesGoOnThatWaited() async throws {
    let (store, definition, _) = try await inFolder()
    let address = try TestDatabase.empty()
    for step in [StoreMove.Step.copied, .verified, .arrived] {
      let write = Act { try await store.submit("com.\(step)", to: definition) }
      await #expect(throws: (any Error).self) {
        _ = try await store.move(
          to: .postgres(address.withoutSecrets), fleet: nil,
          options(at: step) {
            write.begin()
            throw Killed()
          })
      }
      await #expect(throws: Never.self) { _ = try await write.result?.get() }
      #expect(try isLive(folder: data) && !isLive(address))
    }
    // The half-filled database is used again.
    #expect(try await store.move(to: .postgres(address.withoutSecrets), fleet: nil, options()).requests == 5)
    try await store.close()
  }

  @Test func aCancelledMoveLeavesTheStoreWhereItIs() async throws {
    let (store, definition, _) = try await inFolder()
    let address = try TestDatabase.empty()
    for step in [StoreMove.Step.copied, .verified, .arrived] {
      let options = options(at: step)
      let stopping = self.options(at: step) { options.control.stop() }
      var order = stopping
      order.control = options.control
      let given = order
      await #expect(throws: CancellationError.self) {
        _ = try await store.move(to: .postgres(address.withoutSecrets), fleet: nil, given)
      }
      #expect(try isLive(folder: data) && !isLive(address))
    }
    try await store.submit("com.c", to: definition)
    try await store.close()
  }

  @Test func aStopAfterThePointOfNoReturnComesTooLate() async throws {
    let (store, _, _) = try await inFolder()
    let address = try TestDatabase.empty()
    let control = MoveControl()
    var options = options(at: .left) { control.stop() }
    options.control = control
    _ = try await store.move(to: .postgres(address.withoutSecrets), fleet: nil, options)
    #expect(try !isLive(folder: data) && isLive(address))
    try await store.close()
  }

  /// The coordinator is killed at a step, and its next start has the same settings.
  @Test(arguments: StoreMove.Step.allCases)
  func theNextStartFindsTheStore(step: StoreMove.Step) async throws {
    let (store, definition, _) = try await inFolder()
    let address = try TestDatabase.empty()
    let error = await refusal {
      _ = try await store.move(
        to: .postgres(address.withoutSecrets), fleet: nil, options(at: step) { throw Killed() })
    }
    let hasLeft = step == .left || step == .live
    #expect((error?.code == .relocated) == (step == .left))
    #expect((await refusal { _ = try await store.submit("com.c", to: definition) } != nil) == (step == .left))
    try await store.close()
    #expect(try isLive(folder: data) == !hasLeft)
    #expect(try start(.folder(data)) == (hasLeft ? .postgres(address.withoutSecrets) : nil))
    #expect(try isLive(folder: data) == !hasLeft && isLive(address) == hasLeft)
    // A start with the settings of afterwards finds the same.
    #expect(try start(.postgres(address.withoutSecrets)) == nil)
  }

  @Test func aRehearsalIsBesideTheWork() async throws {
    let (store, definition, _) = try await inFolder()
    let address = try TestDatabase.empty()
    let write = Act { try await store.submit("com.c", to: definition) }
    let summary = try await store.move(
      to: .postgres(address.withoutSecrets), fleet: nil,
      options(rehearses: true, at: .copied) { try write.complete() })
    #expect(summary.requests == 2)
    await #expect(throws: Never.self) { _ = try await write.result?.get() }
    #expect(try isLive(folder: data) && !isLive(address))
    try await store.close()
  }

  @Test func whatCannotBeTheTargetIsRefusedBeforeWritesWait() async throws {
    let (store, definition, _) = try await inFolder()
    let full = try TestDatabase.make()
    try Bystander(full).run("UPDATE baton_schema SET fleet = 'theirs'")
    func message(_ place: StorePlace) async -> String? {
      await refusal { _ = try await store.move(to: place, fleet: nil, options()) }?.message
    }
    #expect(await message(.postgres(full.withoutSecrets))?.contains("has a store already") == true)
    #expect(await message(.postgres("postgres://a:b@localhost/c"))?.contains(".pgpass") == true)
    #expect(await message(.folder(data))?.contains("moves to postgres://") == true)
    #expect(await message(.postgres("postgres://a@127.0.0.1:1/c")) != nil)
    let second = Act { try await store.move(to: .postgres(full.withoutSecrets), fleet: nil, self.options()) }
    _ = try await store.move(
      to: .postgres(try TestDatabase.empty().withoutSecrets), fleet: nil,
      options(rehearses: true, at: .copied) { try second.complete() })
    #expect(code(await second.result) == .refused)
    try await store.submit("com.c", to: definition)
    try await store.close()
  }

  // MARK: Back

  @Test func aCoordinatorBeatsWhileItsStoreMovesBack() async throws {
    let address = try TestDatabase.make()
    let (store, definition, launch) = try await inDatabase(address)
    let before = try await store.beat(nil)
    let (beat, write) = (Act { try await store.beat(nil) }, Act { try await store.submit("com.c", to: definition) })
    let summary = try await store.move(
      to: .folder(data), fleet: nil,
      options(at: .copied) {
        write.begin()
        try beat.complete()
      })
    #expect(summary.requests == 2)
    #expect(try await beat.result?.get() == before)
    #expect(code(await write.result) == .unavailable)
    #expect(await refusal { _ = try await store.beat(nil) }?.code == .unavailable)
    try await store.close()
    #expect(try isLive(folder: data) && !isLive(address))
    let moved = try SQLiteStore.open(folder: data)
    #expect(try await moved.assignments(on: someHost).map(\.launch) == [launch])
    try await moved.close()
  }

  @Test func aMoveBackThatFailsLetsTheWritesGoOnThatWaited() async throws {
    let address = try TestDatabase.make()
    let (store, definition, _) = try await inDatabase(address)
    for step in [StoreMove.Step.copied, .verified, .arrived] {
      let write = Act { try await store.submit("com.\(step)", to: definition) }
      await #expect(throws: (any Error).self) {
        _ = try await store.move(
          to: .folder(data), fleet: nil,
          options(at: step) {
            write.begin()
            throw Killed()
          })
      }
      await #expect(throws: Never.self) { _ = try await write.result?.get() }
      _ = try await store.beat(nil)
      #expect(try isLive(address))
      // A start whose settings still name the folder goes on in the database.
      if step == .arrived { #expect(try !isLive(folder: data)) }
    }
    #expect(try await store.move(to: .folder(data), fleet: nil, options()).requests == 5)
    try await store.close()
  }

  /// The settings name the first of three places that the store has had since.
  @Test func aStartFollowsTheStoreThroughSeveralMoves() async throws {
    let (here, first, second) = (
      StorePlace.folder(data), StorePlace.postgres(try TestDatabase.empty().withoutSecrets),
      StorePlace.postgres(try TestDatabase.empty().withoutSecrets)
    )
    func move(to place: StorePlace) async throws {
      let store = try SQLiteStore.open(folder: data, queuesSpans: true)
      _ = try await store.move(to: place, fleet: nil, options())
      try await store.close()
    }
    try await inFolder().0.close()
    try await move(to: first)
    let address = try PostgresAddress(first.text)
    let store = try PostgresStore.open(address, postgres: TestDatabase.limits, folder: try DataFolderLock(data))
    _ = try await store.move(to: here, fleet: nil, options())
    try await store.close()
    try await move(to: second)
    #expect(try start(first) == here)
    #expect(try start(here) == second)
    let last = try PostgresAddress(second.text)
    let (opened, place) = try StoreMove.open(first, dataFolder: data, options()) { place in
      switch place {
      case .postgres(let address):
        try TestDatabase.open(try PostgresAddress(address)) as any VerbStore
      case .folder(let path): try SQLiteStore.open(folder: path)
      }
    }
    #expect(try place == second && isLive(last))
    try await opened.close()
  }

  /// A coordinator with a wrong address has made the tables, and was refused.
  @Test func aStoreThatNoFleetHasUsedIsReplaced() async throws {
    let address = try TestDatabase.empty()
    let unused = try TestDatabase.open(address)
    let (store, _, launch) = try await inFolder()
    #expect(
      await refusal { _ = try await store.move(to: .postgres(address.withoutSecrets), fleet: nil, options()) }?.message
        .contains("has a store already") == true, "its coordinator lives")
    unused.abandon()
    _ = try await store.move(to: .postgres(address.withoutSecrets), fleet: nil, options())
    try await store.close()
    try await unused.close()
    let moved = try TestDatabase.open(address)
    #expect(try await moved.assignments(on: someHost).map(\.launch) == [launch])
    try await moved.close()
  }

  @Test(arguments: StoreMove.Step.allCases)
  func theNextStartFindsTheStoreThatMovedBack(step: StoreMove.Step) async throws {
    // The settings still name the folder, from which the store has moved before.
    let (first, _, _) = try await inFolder()
    let address = try TestDatabase.empty()
    _ = try await first.move(to: .postgres(address.withoutSecrets), fleet: nil, options())
    try await first.close()
    let store = try PostgresStore.open(address, postgres: TestDatabase.limits, folder: try DataFolderLock(data))
    _ = await refusal {
      _ = try await store.move(to: .folder(data), fleet: nil, options(at: step) { throw Killed() })
    }
    try await store.close()
    let hasLeft = step == .left || step == .live
    #expect(try isLive(address) == !hasLeft)
    let folder = StorePlace.folder(data)
    #expect(try start(folder) == (step == .live ? nil : hasLeft ? folder : .postgres(address.withoutSecrets)))
    #expect(try start(.postgres(address.withoutSecrets)) == (hasLeft ? folder : nil))
    #expect(try isLive(folder: data) == hasLeft && isLive(address) == !hasLeft)
  }

  @Test func otherCoordinatorsKeepTheirStore() async throws {
    let address = try TestDatabase.make()
    let (store, definition, _) = try await inDatabase(address)
    let other = try TestDatabase.open(address)
    #expect(
      await refusal { _ = try await store.move(to: .folder(data), fleet: nil, options()) }?.message
        .contains("stop them first (number 2)") == true)
    try await other.leave()
    try await other.close()
    // Another one starts while the store is copied.
    let late = Mutex<PostgresStore?>(nil)
    let error = await refusal {
      _ = try await store.move(
        to: .folder(data), fleet: nil,
        options(at: .copied) {
          let opened = try TestDatabase.open(address)
          late.withLock { $0 = opened }
        })
    }
    #expect(error?.message.contains("stop them first (number 3)") == true)
    try await store.submit("com.c", to: definition)
    #expect(try isLive(address))
    try await late.withLock { $0 }?.close()
    try await store.close()
  }

  /// It has started and ended while the store was copied, so that nothing of it can be seen but its row.
  @Test func aCopyThatIsOldIsNotUsed() async throws {
    let address = try TestDatabase.make()
    let (store, _, _) = try await inDatabase(address)
    let other = Act {
      let other = try TestDatabase.open(address)
      try await other.leave()
      try await other.close()
    }
    let error = await refusal {
      _ = try await store.move(to: .folder(data), fleet: nil, options(at: .copied) { try other.complete() })
    }
    #expect(error?.message.contains("has written to the store") == true)
    #expect(try isLive(address) && !isLive(folder: data))
    try await store.close()
  }

  @Test func aRunningCoordinatorMovesToItsOwnFolderOnly() async throws {
    let address = try TestDatabase.make()
    let (store, _, _) = try await inDatabase(address)
    for place in [StorePlace.folder(folder.path), .folder(data + "/none"), .postgres(address.withoutSecrets)] {
      #expect(await refusal { _ = try await store.move(to: place, fleet: nil, options()) }?.code == .refused)
    }
    #expect(try await store.move(to: .folder(data), fleet: nil, options(rehearses: true)).requests == 2)
    #expect(!FileManager.default.fileExists(atPath: data + "/baton.sqlite"))
    try await store.close()
  }
}
