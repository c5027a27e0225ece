import BatonBase
import BatonHTTP
import BatonModel
import BatonTelemetry
import Foundation
import GRDB
import HostFixtures
import Logging
import Testing

@testable import BatonCoordinator
@testable import BatonStore

@Suite struct DiskFailureTests {
  /// A coordinator with a store on disk, and what it has logged.
  private func withStore(_ body: (Coordinator, String, LogLines) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (store, lines) = (try SQLiteStore.open(folder: folder), LogLines())
    let clocks = Clocks(
      now: { Now(instant: Instant(nanoseconds: 0), date: OperatorFixture.noon) }, sleep: { _ in })
    let coordinator = Coordinator(store: store, settings: CoordinatorSettings(), clocks: clocks, logger: lines.logger)
    try await body(coordinator, folder, lines)
    try await store.close()
  }

  @Test
  func `a disk without room is told once in the log and in readyz, although nothing is written, until it has room`()
    async throws
  {
    try await withStore { coordinator, folder, lines in
      await coordinator.lookForRoom()
      #expect(await coordinator.readiness() == .ready)
      #expect(lines.all.isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).contains(StoreFolder.roomName) == false)
      // In the place of a full disk: the file that is tried cannot be written.
      let obstacle = folder + "/" + StoreFolder.roomName
      try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
      for _ in 1...3 { await coordinator.lookForRoom() }
      guard case .notReady(let why) = await coordinator.readiness() else {
        Issue.record("ready")
        return
      }
      #expect(why.contains("cannot be written") && !why.contains(folder), "\(why)")
      #expect(lines.all.count == 1 && lines.all[0].contains("looking whether the store can be written"), "\(lines.all)")
      try FileManager.default.removeItem(atPath: obstacle)
      for _ in 1...2 { await coordinator.lookForRoom() }
      #expect(await coordinator.readiness() == .ready)
      #expect(lines.all.dropFirst() == ["notice: the store can be written again"], "\(lines.all)")
    }
  }

  @Test func `a write of an operator for which the disk has no room is told in the log and in readyz`() async throws {
    try await withStore { coordinator, _, lines in
      let refusal = OperatorError.self
      for _ in 1...2 {
        await #expect(throws: refusal) {
          try await coordinator.translating { throw StoreError(.cannotWrite, "The disk of the database is full.") }
        }
      }
      #expect(await coordinator.readiness() != .ready)
      #expect(lines.all.count == 1 && lines.all[0].contains("The disk of the database is full"), "\(lines.all)")
      await coordinator.lookForRoom()
      #expect(await coordinator.readiness() == .ready)
      // The disk of a backup is another matter.
      await #expect(throws: refusal) {
        try await coordinator.translating(isOfStore: false) { throw StoreError(.cannotWrite, "full") }
      }
      #expect(await coordinator.readiness() == .ready)
    }
  }

  /// Nothing happens by itself: time does not pass.
  private func idle(_ store: SQLiteStore) -> Coordinator {
    let clocks = Clocks(
      now: { Now(instant: Instant(nanoseconds: 0), date: Timestamp(nanoseconds: 1_700_000_000_000_000_000)) },
      sleep: { _ in
        await Signal().wait()
        try Task.checkCancellation()
      })
    return Coordinator(
      store: store, settings: CoordinatorSettings(), clocks: clocks,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  @Test(.timeLimit(.minutes(10)))
  func `a coordinator ends when the disk failed, also if whoever wrote keeps that to himself`() async throws {
    let store = try SQLiteStore.inMemory()
    let coordinator = idle(store)
    try await coordinator.restore()
    let ended = Task { try await coordinator.run() }
    _ = try? await store.write(.ordinary) { _ in
      throw DatabaseError(resultCode: .SQLITE_IOERR_FSYNC, message: "disk I/O error")
    }
    let error = await #expect(throws: StoreError.self) { try await ended.value }
    #expect(error?.code == .unknown)
  }
}
