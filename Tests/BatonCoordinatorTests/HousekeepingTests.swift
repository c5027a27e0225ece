import BatonBase
import BatonModel
import BatonStore
import Logging
import Synchronization
import Testing

@testable import BatonCoordinator

/// What the coordinator does each minute beside its work.
@Suite struct HousekeepingTests {
  @Test func `one round prunes everything that is due, one step after the other`() async throws {
    let store = try SQLiteStore.inMemory()
    var settings = CoordinatorSettings()
    settings.retention = RetentionLimits(endedFor: .zero, endedCount: 0, step: 1)
    let seconds = Mutex<Int64>(0)
    let rounds = Mutex(0)
    let clocks = Clocks(
      now: {
        let passed = seconds.withLock { seconds in
          seconds += 1
          return seconds
        }
        return Now(
          instant: Instant(nanoseconds: passed * 1_000_000_000), date: OperatorFixture.noon + .seconds(passed))
      },
      sleep: { duration in
        guard duration >= .seconds(60) else { return }
        // The test ends the loop at the end of the first round.
        let isOver = rounds.withLock { rounds in
          rounds += 1
          return rounds > 1
        }
        if isOver { throw CancellationError() }
      })
    let coordinator = Coordinator(
      store: store, settings: settings, clocks: clocks,
      logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    _ = try await coordinator.apply([Desk.job("com.example.*")])
    for number in 0..<5 {
      let order = SubmissionOrder(id: "\(number)", identifier: JobIdentifier("com.example.n\(number)")!)
      _ = try await coordinator.submit([order], by: "ada")
    }
    _ = try await coordinator.cancel(CancelSelection.all, by: "ada")
    #expect(try await store.counts().map(\.count).reduce(0, +) == 5)
    await #expect(throws: CancellationError.self) { try await coordinator.housekeepingLoop() }
    #expect(try await store.counts().isEmpty)
  }
}
