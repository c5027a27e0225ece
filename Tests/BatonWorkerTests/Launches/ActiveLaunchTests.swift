import BatonBase
import BatonHandler
import BatonModel
import BatonTelemetry
import BatonWire
import Logging
import Synchronization
import Testing

@testable import BatonCore
@testable import BatonWorker

/// The questions of a running handler to its worker. The test is the other end of the worker's connection.
@Suite(.timeLimit(.minutes(10))) struct ActiveLaunchTests {
  /// A connected worker with one launch. Its loops do not run, so nothing happens that the test does not cause.
  struct Station {
    let worker: Worker
    let launch: ActiveLaunch
    let connection = Connection()

    /// - Parameter lastWords: what the handler writes before it returns, if `startLoop` runs it.
    init(lastWords: String = "") throws {
      let now = Instant(nanoseconds: 0)
      let worker = Worker(
        WorkerConfiguration(name: "a", dataFolder: "unused", slots: 1), incarnation: Incarnation("a1"),
        logger: Logger(label: "test"), connector: nil, clocks: Clocks(instant: { now }, sleep: { _ in }))
      worker.register("com.example.a") { [weak worker] _ in
        worker?.state.withLock { $0.active[key(1)] }?.output(Array(lastWords.utf8))
      }
      worker.decide { $0.connected(at: now) }
      worker.state.withLock { [connection] state in state.connection = connection }
      worker.decide { $0.received(.welcome(leaseTerm: Bench.term), at: now) }
      worker.decide { $0.received(.definition(DefinitionID(1), Bench.job()), at: now) }
      worker.decide { $0.received(.launch(Bench.assignment(1)), at: now) }
      self.worker = worker
      launch = try #require(worker.state.withLock { $0.active[key(1)] })
    }

    func answers(_ message: CoordinatorMessage) {
      worker.decide { $0.received(message, at: Instant(nanoseconds: 0)) }
    }

    var openQuestions: Int { worker.state.withLock { $0.core.launches[key(1)]?.dialogue.questions.count ?? 0 } }

    /// Waits for the next messages of the worker and returns them.
    func said() async throws -> [WorkerMessage] { try #require(await connection.up.receive()) }

    /// Closes the connection and returns the messages that the test has not read.
    func rest() async -> [WorkerMessage] {
      connection.up.close()
      return await connection.up.receive() ?? []
    }
  }

  static let commit = Commit(cursor: [1], completedUnits: 2, totalUnits: 3)
  static let checkpoint = Checkpoint(launch: key(1), batch: 0, cursor: [1], completedUnits: 2, totalUnits: 3)

  @Test func `a commit returns once it is durable`() async throws {
    let station = try Station()
    async let commit: Void = station.launch.commit(Self.commit)
    #expect(try await station.said() == [.checkpoint(Self.checkpoint)])
    #expect(station.launch.progress == Progress())
    station.answers(.committed(key(1), batch: 0))
    try await commit
    #expect(station.launch.progress == Progress(batches: 1, cursor: [1], completedUnits: 2, totalUnits: 3))
  }

  @Test func `output stays with its launch while there is no connection`() async throws {
    let station = try Station()
    let connection = Connection()
    async let served: Void = station.worker.serve(connection)
    connection.close()
    try await served
    station.launch.output([1, 2])
    station.worker.sendOutput()
    #expect(station.launch.takeOutput() == OutputChunk(launch: key(1), bytes: [1, 2]))
  }

  @Test func `the last output of a launch is sent before its ending`() async throws {
    let station = try Station(lastWords: "last words")
    let fixture = try CommandFixture()
    let loop = Task { await station.worker.startLoop(fixture.processes, fixture.folders) }
    var said: [WorkerMessage] = []
    while said.count < 2 { said += try await station.said() }
    #expect(said[0] == .output(OutputChunk(launch: key(1), bytes: Array("last words".utf8))))
    #expect(said[1] == .ended(Ending(launch: key(1), outcome: .finished)))
    loop.cancel()
    await loop.value
  }

  @Test(arguments: [true, false])
  func `a question about items ends when its task is cancelled, answered or not`(isFreeze: Bool) async throws {
    let station = try Station()
    let question = Task {
      if isFreeze { return try await station.launch.freeze(["a"], start: 0, isLast: true) }
      _ = try await station.launch.items(start: 0, count: 2)
    }
    #expect(try await station.said().count == 1)
    question.cancel()
    await #expect(throws: CancellationError.self) { try await question.value }
  }

  @Test func `a question of a task that is cancelled already is not asked`() async throws {
    let station = try Station()
    let question = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await station.launch.items(start: 0, count: 2)
    }
    await #expect(throws: CancellationError.self) { try await question.value }
    #expect(await station.rest() == [])
  }

  @Test func `a commit is not cut short, and follows the answer to a question that was given up`() async throws {
    let station = try Station()
    let items = Task { try await station.launch.items(start: 0, count: 2) }
    #expect(try await station.said() == [.itemsWanted(key(1), start: 0, count: 2)])
    items.cancel()
    await #expect(throws: CancellationError.self) { try await items.value }

    let commit = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await station.launch.commit(Self.commit)
    }
    while station.openQuestions < 2 { await Task.yield() }
    // The answer to the question that was given up arrives. Only then the checkpoint is sent.
    station.answers(.items(ItemPage(launch: key(1), start: 0, items: ["a", "b"])))
    #expect(try await station.said() == [.checkpoint(Self.checkpoint)])
    station.answers(.committed(key(1), batch: 0))
    try await commit.value
    #expect(station.launch.progress.batches == 1)
  }

  @Test func `a submission is not cut short, and a refusal says its code`() async throws {
    let station = try Station()
    let submission = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await station.launch.submit(QuestionTests.submission)
    }
    #expect(try await station.said() == [.submission(key(1), QuestionTests.submission)])
    station.answers(.submitted(key(1), name: "next", QuestionTests.accepted))
    #expect(try await submission.value.number == 2)

    let refused = Task { try await station.launch.submit(QuestionTests.submission) }
    #expect(try await station.said().count == 1)
    station.answers(
      .submitted(key(1), name: "next", .refused(code: "tooManyPendingTaskRequests", message: "3 wait")))
    let error = await #expect(throws: HandlerError.self) { try await refused.value }
    #expect(error?.code == .submissionRefused)
    #expect(error?.refusal == .tooManyPendingTaskRequests)
    #expect(error?.message == "3 wait")
  }

  @Test func `a question that waits for its turn and is cancelled is never asked`() async throws {
    let station = try Station()
    async let commit: Void = station.launch.commit(Self.commit)
    #expect(try await station.said() == [.checkpoint(Self.checkpoint)])
    let items = Task { try await station.launch.items(start: 0, count: 2) }
    while station.openQuestions < 2 { await Task.yield() }
    items.cancel()
    await #expect(throws: CancellationError.self) { try await items.value }
    station.answers(.committed(key(1), batch: 0))
    try await commit
    #expect(await station.rest() == [])
  }

  @Test func `a refused commit throws, and says whether another launch is live`() async throws {
    for isSuperseded in [true, false] {
      let station = try Station()
      let commit = Task { try await station.launch.commit(Self.commit) }
      _ = try await station.said()
      station.answers(isSuperseded ? .withdraw(key(1), "gone") : .refuse(key(1), "gone"))
      let error = await #expect(throws: HandlerError.self) { try await commit.value }
      #expect(error?.code == (isSuperseded ? .superseded : .checkpointRefused))
      #expect(error?.message == "gone")
    }
  }

  @Test func `a checkpoint over the limit is refused here`() async throws {
    let station = try Station()
    let bytes = [UInt8](repeating: 0, count: Checkpoint.maximumCursorBytes + 1)
    let error = await #expect(throws: HandlerError.self) {
      try await station.launch.commit(Commit(cursor: bytes, completedUnits: 1, totalUnits: nil))
    }
    #expect(error?.code == .checkpointRefused)
    #expect(await station.rest() == [])
  }

  @Test func `what a handler left behind gets no answer, and does not wait for one`() async throws {
    let station = try Station()
    let commit = Task { try await station.launch.commit(Self.commit) }
    _ = try await station.said()
    station.worker.decide { $0.handlerEnded(key(1), .finished) }
    let open = await #expect(throws: HandlerError.self) { try await commit.value }
    #expect(open?.code == .superseded)
    let late = await #expect(throws: HandlerError.self) { try await station.launch.commit(Self.commit) }
    #expect(late?.code == .superseded)
    station.answers(.endingCommitted(key(1)))
    let forgotten = await #expect(throws: HandlerError.self) { try await station.launch.commit(Self.commit) }
    #expect(forgotten?.code == .superseded)
  }

  @Test func `a worker whose run is cancelled leaves no handler waiting for an answer`() async throws {
    let station = try Station()
    let commit = Task { try await station.launch.commit(Self.commit) }
    _ = try await station.said()
    station.worker.decide { $0.cutOff() }
    let error = await #expect(throws: HandlerError.self) { try await commit.value }
    #expect(error?.code == .superseded)
  }

  @Test func `an expiry wakes the one who stops the handler, and the first stays`() async throws {
    let station = try Station()
    #expect(station.launch.expiry == nil)
    async let stopped: Void = station.launch.stop.wait()
    station.answers(.expire(key(1), .paused))
    await stopped
    station.answers(.expire(key(1), .draining))
    let expiry = try #require(station.launch.expiry)
    #expect(expiry.reason == .paused)
    // The worker's clock stands still, so the deadline is always the whole closing window of 30 s away.
    #expect(expiry.deadline > .now + .seconds(20) && expiry.deadline <= .now + .seconds(30))
  }

  @Test func `of much output between two ticks the last 64 KiB are kept`() throws {
    let station = try Station()
    let bytes = (0..<OutputChunk.maximumKeptBytes + 1000).map { UInt8(truncatingIfNeeded: $0 % 251) }
    station.launch.output(Array(bytes[..<2000]))
    station.launch.output(Array(bytes[2000...]))
    #expect(station.launch.takeOutput()?.bytes == Array(bytes.suffix(OutputChunk.maximumKeptBytes)))
    #expect(station.launch.takeOutput() == nil)
  }
}
