import BatonBase
import BatonModel
import BatonTelemetry
import GRDB
import Logging
import Testing

@testable import BatonCoordinator
@testable import BatonStore

@Suite struct DiskFailureTests {
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
