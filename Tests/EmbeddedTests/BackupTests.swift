import BatonBase
import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import BatonWire
import BatonWorker
import Foundation
import GRDB
import Logging
import Synchronization
import Testing

/// The store goes backwards while a worker lives on (promise P12).
@Suite(.timeLimit(.minutes(10))) struct BackupTests {
  private let name = JobIdentifier("com.example.a")!
  private let scene = Scene()

  /// When the backup is made: before the request was submitted, or after three of its batches.
  private enum Backup: CaseIterable { case beforeTheRequest, afterThreeBatches }

  @Test(arguments: Backup.allCases)
  private func `an old backup is noticed, and nothing runs before the fleet is resumed`(_ backup: Backup) async throws {
    defer { scene.tidy() }
    let worker = scene.worker(name.rawValue)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      group.addTask {
        try await scene.run { try await self.losesItsStore($0, after: backup) }
        try scene.restoreBackup()
        try await scene.run { try await self.isNoticed($0, after: backup) }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The worker has kept its receipts in its data folder.
  @Test func `an old backup is noticed although the worker was started again too`() async throws {
    defer { scene.tidy() }
    try await withWorker {
      try await scene.run { try await self.losesItsStore($0, after: .afterThreeBatches) }
    }
    try scene.restoreBackup()
    try await withWorker {
      try await scene.run { coordinator in
        while try await !coordinator.hostReports().contains(where: { $0.state == .ready }) { await Task.yield() }
        #expect(try await coordinator.store.fleet().isPaused)
        #expect(scene.lines.withLock { $0.contains { $0.hasPrefix("error: the store went backwards") } })
      }
    }
  }

  private func withWorker(_ body: @escaping @Sendable () async throws -> Void) async throws {
    let worker = scene.worker(name.rawValue)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      group.addTask { try await body() }
      try await group.next()
      group.cancelAll()
      // The worker writes its receipts at the end.
      while let ended = await group.nextResult() { _ = ended }
    }
  }

  /// Commits six batches, and makes the backup on the way.
  private func losesItsStore(_ coordinator: Coordinator, after backup: Backup) async throws {
    var definition = Definition(pattern: IdentifierPattern(name.rawValue)!, kind: .continued)
    definition.title = "Job"
    _ = try await coordinator.apply([definition])
    if backup == .beforeTheRequest { try await scene.makeBackup() }
    try await submit(to: coordinator)
    try await scene.letGo(0..<3)
    // The fourth batch begins when the third has been committed.
    #expect(await scene.nextBatch() == 3)
    if backup == .afterThreeBatches { try await scene.makeBackup() }
    scene.letGo()
    try await scene.letGo(4..<6)
    #expect(await scene.nextBatch() == 6)
  }

  private func submit(to coordinator: Coordinator) async throws {
    let results = try await coordinator.submit(
      [SubmissionOrder(id: .randomIncarnation(), identifier: name)], by: "test")
    guard case .accepted? = results.first else { throw Surprise("not accepted: \(results)") }
  }

  private func isNoticed(_ coordinator: Coordinator, after backup: Backup) async throws {
    let before = scene.incarnation
    while try await !coordinator.hostReports().contains(where: { $0.state == .ready }) { await Task.yield() }
    #expect(try await coordinator.store.fleet().isPaused)
    #expect(try await coordinator.store.fleet().storeIncarnation != before)
    #expect(scene.lines.withLock { $0.contains { $0.hasPrefix("error: the store went backwards") } })
    switch backup {
    case .beforeTheRequest: try await submit(to: coordinator, whenResumed: true)
    case .afterThreeBatches: try await expectStopped(coordinator)
    }
    // Another launch goes on where the store stands, and finishes the request.
    let first: Int64 = backup == .beforeTheRequest ? 0 : 3
    try await scene.letGo(first..<Scene.batches)
    while try await coordinator.details(name, number: nil).record.state != .succeeded { await Task.yield() }
    // In a store without launches it is launch 1, or launch 2 if the worker was still stopping the lost one.
    let number = try await coordinator.details(name, number: nil).launches.last?.launch.number
    #expect(number == 2 || backup == .beforeTheRequest && number == 1)
  }

  /// Expects that the request tells what happened, and waits until the fleet is resumed.
  private func expectStopped(_ coordinator: Coordinator) async throws {
    let details = try await coordinator.details(name, number: nil)
    #expect(details.record.state == .ready)
    #expect(details.launches.map(\.outcome) == [.lost])
    #expect(details.events.map(\.name) == ["storeWentBackwards"])
    #expect(details.events.first?.detail?.hasPrefix("desk had been told of commit") == true)
    let explained = try await coordinator.explain(name, number: nil)
    #expect(explained.lines.contains { $0.code == "fleetPaused" })
    try await coordinator.setPaused(false)
  }

  private func submit(to coordinator: Coordinator, whenResumed: Bool) async throws {
    try await coordinator.setPaused(false)
    try await submit(to: coordinator)
  }

  @Test func `a worker whose receipts the store covers goes on undisturbed`() async throws {
    defer { scene.tidy() }
    let worker = scene.worker(name.rawValue)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      group.addTask {
        try await scene.run { try await self.losesItsStore($0, after: .afterThreeBatches) }
        try await scene.run { coordinator in
          scene.letGo()
          try await scene.letGo(7..<Scene.batches)
          while try await coordinator.details(name, number: nil).record.state != .succeeded { await Task.yield() }
          let details = try await coordinator.details(name, number: nil)
          #expect(details.launches.map(\.outcome) == [.finished])
          #expect(details.events == [])
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

/// A store on disk, a worker that outlives its coordinators, and a job whose batches begin when the test permits it.
private final class Scene: Sendable {
  static let batches: Int64 = 9
  private let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  private let coordinator = Mutex<Coordinator?>(nil)
  private let begun = Mailbox<Int64>(capacity: 1000)
  private let permits = Mailbox<Void>(capacity: 1000)
  let lines = Mutex<[String]>([])
  private let known = Mutex("")

  /// The incarnation of the last store.
  var incarnation: String { known.withLock { $0 } }

  private var database: String { folder + "/store/baton.sqlite" }
  func tidy() { try? FileManager.default.removeItem(atPath: folder) }

  func worker(_ identifier: String) -> Worker {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: folder + "/desk", slots: 1)
    configuration.probesHost = false
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let connector = EmbeddedConnector { [self] connection in
      guard let coordinator = coordinator.withLock({ $0 }) else { return connection.close() }
      try await coordinator.serve(connection, from: "test")
    }
    let worker = Worker(
      configuration, incarnation: Incarnation(.randomIncarnation()), logger: logger, connector: connector)
    worker.register(identifier) { [begun, permits] task in
      for batch in task.progress.completedUnits..<Self.batches {
        begun.send(batch)
        _ = await permits.receive()
        try Task.checkCancellation()
        try await task.checkpoint(batch, completed: batch + 1, of: Self.batches)
      }
    }
    return worker
  }

  /// Runs a coordinator on the store until `body` has returned.
  func run(_ body: @escaping @Sendable (Coordinator) async throws -> Void) async throws {
    let store = try SQLiteStore.open(folder: folder + "/store")
    var logger = Logger(label: "test") { [self] _ in Lines(scene: self) }
    logger.logLevel = .info
    var settings = CoordinatorSettings(leaseTerm: .seconds(300))
    // The key lies beside the database, so that restoring a backup does not remove it.
    settings.receiptKey = try SecretFile.own(folder + "/store/receipt.key").secret
    let coordinator = Coordinator(store: store, settings: settings, logger: logger)
    try await coordinator.restore()
    let name = try await store.fleet().storeIncarnation
    known.withLock { $0 = name }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await coordinator.run() }
      group.addTask {
        self.coordinator.withLock { $0 = coordinator }
        try await body(coordinator)
      }
      defer { group.cancelAll() }
      try await group.next()
      self.coordinator.withLock { $0 = nil }
      coordinator.stopAccepting()
    }
    try await store.close()
  }

  func nextBatch() async -> Int64? { await begun.receive()?.first }
  func letGo() { permits.send(()) }

  /// Waits for each of these batches to begin, and lets it finish. A batch begins after the one before was committed.
  func letGo(_ batches: Range<Int64>) async throws {
    for batch in batches {
      let found = await nextBatch()
      guard found == batch else { throw Surprise("batch \(String(describing: found)) began, not \(batch)") }
      letGo()
    }
  }

  func makeBackup() async throws {
    try await DatabaseQueue(path: database).writeWithoutTransaction { [folder] db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [folder + "/backup.sqlite"])
    }
  }

  func restoreBackup() throws {
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + end) }
    try FileManager.default.copyItem(atPath: folder + "/backup.sqlite", toPath: database)
  }

  private struct Lines: LogHandler {
    let scene: Scene
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { scene.lines.withLock { $0.append("\(event.level): \(event.message)") } }
  }
}
