import BatonCoordinator
import BatonModel
import BatonStore
import BatonTelemetry
import Synchronization
import Testing

/// Two coordinators that share a store: what a worker says to one of them reaches those who ask the other one.
@Suite(.timeLimit(.minutes(10))) struct TwoCoordinatorTests {
  private let name = JobIdentifier("com.example.a")!

  private static func coordinator(_ store: SQLiteStore, sendingTo backend: Backend? = nil) -> Coordinator {
    var settings = CoordinatorSettings()
    settings.spans = backend.map { backend in
      let limits = BatchLimits(queue: 2048, batch: 512, delay: .milliseconds(5))
      return SpanDelivery(resource: Resource([]), batch: limits) { backend.take($0) }
    }
    return Coordinator(store: store, settings: settings, logger: Fleet.quiet)
  }

  private final class Failure: Sendable { let error = Mutex<(any Error)?>(nil) }

  /// A tracing backend that counts the spans.
  private final class Backend: Sendable {
    private let count = Mutex(0)
    var spans: Int { count.withLock { $0 } }

    func take(_ request: TraceRequest) -> ExportVerdict {
      count.withLock { $0 += request.spans.count }
      return .delivered
    }
  }

  @Test func `of two coordinators the steward alone sends spans, and the other one goes on`() async throws {
    let store = try SQLiteStore.inMemory(queuesSpans: true, isShared: true)
    let backends = (Backend(), Backend())
    let one = Self.coordinator(store, sendingTo: backends.0)
    let two = Self.coordinator(try store.another(), sendingTo: backends.1)
    let failure = Failure()
    try await withThrowingTaskGroup(of: Void.self) { group in
      try await one.restore()
      group.addTask { try await one.run() }
      try await two.restore()
      group.addTask {
        do {
          try await two.run()
        } catch {
          if !(error is CancellationError) { failure.error.withLock { $0 = error } }
        }
      }
      _ = try await one.apply([Definition(pattern: IdentifierPattern(name.rawValue)!, kind: .processing)])
      let worker = FakeWorker("a") { $0.capabilities.handlers = [IdentifierPattern("com.*")!] }
      worker.connect(to: one, in: &group)
      try await Fleet(coordinator: two).submit(name.rawValue)
      let launch = try #require(await worker.assignment()?.launch)
      async let end = Fleet(coordinator: two).ended(name.rawValue)
      worker.say(.ended(Ending(launch: launch, outcome: .finished)))
      #expect(try await end.record.state == .succeeded)
      await two.deliverRest()
      await one.deliverRest()
      #expect(backends.0.spans >= 3, "the spans of the submission, the launch and the request")
      #expect(backends.1.spans == 0)
      group.cancelAll()
    }
    #expect(failure.error.withLock { $0 } == nil)
  }

  @Test func `a watcher at the other coordinator sees titles, progress between checkpoints, and the end`()
    async throws
  {
    let store = try SQLiteStore.inMemory(isShared: true)
    let (one, two) = (Self.coordinator(store), Self.coordinator(try store.another()))
    try await withThrowingTaskGroup(of: Void.self) { group in
      try await one.restore()
      group.addTask { try await one.run() }
      // The second one joins when it has seen the clock of the first one go on.
      try await two.restore()
      group.addTask { try await two.run() }
      var definition = Definition(pattern: IdentifierPattern(name.rawValue)!, kind: .continued)
      definition.title = "Job"
      _ = try await one.apply([definition])
      let worker = FakeWorker("a") { $0.capabilities.handlers = [IdentifierPattern("com.*")!] }
      worker.connect(to: one, in: &group)
      try await Fleet(coordinator: one).submit(name.rawValue)
      let launch = try #require(await worker.assignment()?.launch)
      let other = Fleet(coordinator: two)
      // Nothing is told to the second coordinator: both changes come from the store.
      worker.say(.update(LaunchUpdate(launch: launch, title: "Greetings", completedUnits: 3, totalUnits: 10)))
      let shown = try await other.reached(name.rawValue) { $0.record.progress.completedUnits == 3 }
      #expect(shown.record.title == "Greetings" && shown.record.progress.totalUnits == 10)
      #expect(try await two.requests(RequestFilter(), after: nil, limit: 9).map(\.title) == ["Greetings"])
      // A checkpoint is newer than the update before it, and the next update is newer than the checkpoint.
      worker.say(.checkpoint(Checkpoint(launch: launch, batch: 0, completedUnits: 5, totalUnits: 10)))
      #expect(await worker.hears { $0 == .committed(launch, batch: 0) } != nil)
      worker.say(.update(LaunchUpdate(launch: launch, completedUnits: 7)))
      let later = try await other.reached(name.rawValue) { $0.record.progress.completedUnits == 7 }
      #expect(later.record.title == "Greetings")
      async let end = other.ended(name.rawValue)
      worker.say(.ended(Ending(launch: launch, outcome: .finished)))
      #expect(await worker.hears { $0 == .endingCommitted(launch) } != nil)
      #expect(try await end.record.state == .succeeded)
      group.cancelAll()
    }
  }
}
