import BatonBase
import BatonHandler
import BatonModel
import BatonWire
import Foundation
import Logging
import Synchronization
import Testing

@testable import BatonCore
@testable import BatonWorker

/// A worker measures its deadlines with a clock that does not step (promise P7).
@Suite("A worker whose wall clock jumps", .timeLimit(.minutes(10)))
struct WorkerClockTests {
  /// A monotonic clock and a wall clock that stand still until the test moves them. A sleep takes no time; it only lets
  /// other tasks run.
  final class SteppedTime: Sendable {
    private struct State {
      var instant = Instant(nanoseconds: 1_000_000_000_000)
      var date = Timestamp(nanoseconds: 1_772_366_400_000_000_000)
      var sleeps = 0
    }

    private let state = Mutex(State())

    var worker: Clocks {
      Clocks(
        instant: { self.state.withLock { $0.instant } },
        sleep: { _ in
          try Task.checkCancellation()
          self.state.withLock { $0.sleeps += 1 }
          await Task.yield()
        }, date: { self.state.withLock { $0.date } })
    }

    func pass(_ duration: Duration) {
      state.withLock { ($0.instant, $0.date) = ($0.instant + duration, $0.date + duration) }
    }
    func stepDate(_ duration: Duration) { state.withLock { $0.date = $0.date + duration } }

    /// Returns when the worker's tick loop has read the clock since the call.
    func seen() async {
      let before = state.withLock { $0.sleeps }
      while state.withLock({ $0.sleeps }) < before + 3 { await Task.yield() }
    }
  }

  private static let launch = LaunchKey(request: RequestID(1), number: 1)

  /// Plays the coordinator: grants a lease of one hour, and assigns one launch with a budget of 20 s.
  private static func serve(_ connection: Connection, _ heard: Heard<WorkerMessage>) async {
    while let messages = await connection.up.receive() {
      for message in messages {
        heard.add(message)
        guard case .hello = message else { continue }
        connection.down.send(.welcome(leaseTerm: .seconds(3600)))
        connection.down.send(.definition(DefinitionID(1), Bench.job { $0.budget = .seconds(20) }))
        connection.down.send(.launch(Bench.assignment(1)))
      }
    }
  }

  private static func worker(_ clocks: SteppedTime, _ heard: Heard<WorkerMessage>, folder: String) -> Worker {
    var configuration = WorkerConfiguration(name: "a", dataFolder: folder, slots: 4)
    configuration.probesHost = false
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return Worker(
      configuration, incarnation: Incarnation("a1"), logger: logger,
      connector: EmbeddedConnector { await serve($0, heard) }, clocks: clocks.worker)
  }

  private static func expiries(_ heard: Heard<WorkerMessage>) -> [ExpiryReason] {
    heard.values.compactMap { if case .expiring(launch, let reason) = $0 { reason } else { nil } }
  }

  @Test("what runs is stopped by the budget on the steady clock, not when the wall clock says so")
  func budget() async throws {
    let (clocks, heard, folder) = (SteppedTime(), Heard<WorkerMessage>(), try OwnerFolder())
    let worker = Self.worker(clocks, heard, folder: folder.path)
    let (started, isStarted) = AsyncStream<Void>.makeStream()
    worker.register("com.example.a") { _ in
      isStarted.yield()
      // The stream has no elements. The loop ends when the task is cancelled.
      for await _ in AsyncStream<Void>.makeStream().stream {}
      throw CancellationError()
    }
    let running = Task { try await worker.run() }
    defer { running.cancel() }
    for await _ in started { break }
    for step in [Duration.seconds(7200), .seconds(-14_400), .seconds(315_360_000)] {
      clocks.stepDate(step)
      await clocks.seen()
    }
    clocks.pass(.milliseconds(19_999))
    await clocks.seen()
    #expect(Self.expiries(heard) == [])
    clocks.stepDate(.seconds(-315_360_000))
    clocks.pass(.milliseconds(1))
    while Self.expiries(heard).isEmpty { await Task.yield() }
    #expect(Self.expiries(heard) == [.budgetSpent])
  }
}
