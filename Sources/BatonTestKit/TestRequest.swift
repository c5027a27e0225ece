public import BatonHandler
public import BatonModel
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A request under test. It runs a handler as a worker does: one launch after the other, each from the last checkpoint
/// of the launches before it.
///
/// ```swift
/// let database = FakeDatabase()
/// let request = TestRequest("com.example.db-cleanup")
/// let launch = try await request.launch(cleanup(database), interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
/// #expect(launch.outcome == .expired(.hostBusy))
/// // …
/// try await request.complete(cleanup(database))
/// ```
///
/// The sample is from `Examples/TestKit/CleanupTests.swift`. Begin with `checkEveryInterruption`, which tries all
/// interruptions; test one launch at a time with `launch`, and the request as a whole with `complete`. Read the results
/// from `launches`, `checkpoints` and `completion`.
///
/// The kit uses the same code as a worker to decide what happens to a launch, with a store in memory that answers at
/// once. It needs no coordinator, no network and no files. Time stands still until something moves `clock`.
///
/// The kit sees only what the handler tells it. It does not see work that is not saved; let your fakes count such work.
///
/// A `TestRequest` can be used from several tasks, but at most one of its launches runs at a time. A request that has
/// ended cannot be launched again: make another one for each test.
public final class TestRequest: Sendable {
  let settings: Settings
  /// The clock of all launches of this request. Pass it to the code under test in place of `ContinuousClock`.
  public let clock: ManualClock
  let state: Mutex<State>

  /// Creates a request that has not been launched. The arguments are checked by the first launch, which throws
  /// `TestKitError` with the code `.invalidRequest` if a coordinator would refuse the request.
  /// - Parameters:
  ///   - identifier: the identifier of the request, such as `com.example.export.42`.
  ///   - pattern: the identifier of the definition, if it is a wildcard such as `com.example.export.*`. `task.wildcard`
  ///     is then the part that the `*` stands for. `nil` means the same as `identifier`.
  ///   - kind: the kind of the definition, which decides the defaults below.
  ///   - payload: the payload, at most 64 KiB.
  ///   - principal: who submitted the request, for `task.principal`.
  ///   - budget: the longest that a launch may run. `nil` means the default of the kind: 30 s for a refresh, 10 minutes
  ///     for processing, no limit for continued.
  ///   - closingWindow: the time from an expiry to its deadline. `nil` means 5 s for a refresh and 30 s for the other
  ///     kinds. It is at most 2 s if the reason of the expiry lets nothing be saved.
  ///   - stallAfter: the time without progress after which a launch is suspected to have stalled; at twice this time it
  ///     expires `stalled`. `nil` means 60 s for kind continued; launches of the other kinds then never stall.
  ///   - shard: the shard of the request that its launches work on, for `task.shard` and `task.batches(of:size:)`;
  ///     `nil` for a request that is not divided. Each shard has checkpoints, launches and an end of its own, as the
  ///     shards of a real request have: make one `TestRequest` for each shard.
  ///   - transfers: the URLs of the definition's `work.transfers`. The first launch starts when they have ended, and
  ///     each file has the name that it has in its URL.
  ///   - server: what becomes of these transfers, and of those that the handler adds.
  ///   - maySubmit: the identifiers that `task.submit` may submit, as in the definition.
  ///   - inputs: how the requests that this one waited for have ended, for `task.inputs`. Each result has at most
  ///     64 KiB of JSON.
  ///   - retries: how often `complete` launches the request again after a failure. The default is 0, so that the test
  ///     sees the first failure; a definition has 3 by default.
  ///   - batchDuration: how far each commit moves the clock, before the checkpoint is saved. With this time a test can
  ///     let the budget or a deadline come in the middle of the work.
  ///   - clock: the clock of the launches. Pass one that the code under test or another request uses too.
  public init(
    _ identifier: String, declaredAs pattern: String? = nil, kind: JobKind = .processing, payload: TestPayload? = nil,
    principal: String = "test", budget: Duration? = nil, closingWindow: Duration? = nil, stallAfter: Duration? = nil,
    shard: JobShard? = nil, transfers: [String] = [], server: TestServer? = nil, maySubmit: [String] = [],
    inputs: [JobInput] = [], retries: Int = 0,
    batchDuration: Duration = .zero, clock: ManualClock = ManualClock()
  ) {
    settings = Settings(
      identifier: identifier, pattern: pattern ?? identifier, kind: kind, payload: payload, principal: principal,
      budget: budget, closingWindow: closingWindow, stallAfter: stallAfter, shard: shard, transfers: transfers,
      server: server, maySubmit: maySubmit, inputs: inputs,
      retries: retries, batchDuration: batchDuration)
    self.clock = clock
    state = Mutex(State(transfers: settings.definedTransfers))
  }

  init(_ settings: Settings, planned: [Interruption], clock: ManualClock) {
    self.settings = settings
    self.clock = clock
    state = Mutex(State(transfers: settings.definedTransfers, planned: planned))
  }

  struct State {
    var launches: [TestLaunch] = []
    var transfers: TestTransfers
    /// The progress from which the next launch begins.
    var progress = Progress()
    var pace = Pace()
    var submissions = TestSubmissions()
    var result: JobResult?
    var ledger = Ledger()
    var completion: Completion?
    var running: LaunchUnderTest?
    /// The interruptions of the next launches that get no interruption of their own.
    var planned: [Interruption] = []
  }

  /// How a request ended.
  public enum Completion: Hashable, Sendable {
    /// A launch of the request finished.
    case succeeded
    /// A launch failed and no retry was left, or three launches in a row committed nothing and were lost, stalled or
    /// spent their budget (quarantine). The text says why.
    case failed(String)
    /// A launch expired with the reason `.cancelled`. The text is the principal of that reason.
    case cancelled(by: String)
  }

  /// How the request ended; `nil` while it can be launched again.
  public var completion: Completion? { state.withLock { $0.completion } }

  /// The results of all launches that have ended, in order.
  public var launches: [TestLaunch] { state.withLock { $0.launches } }

  /// The checkpoints that all launches have saved, in order.
  public var checkpoints: [TestCheckpoint] { launches.flatMap(\.checkpoints) }

  /// The calls of `task.update` and `task.report` in all launches, in order.
  public var updates: [TestUpdate] { launches.flatMap(\.updates) }

  /// The payload that the handler gets; `nil` if the request has none, or if it cannot be encoded.
  public var payload: [UInt8]? { try? settings.payload?.bytes.get() }

  /// Decodes the result of the request (`JobTask.setResult(_:)`).
  /// - Returns: `nil` if the request has not succeeded, or has given none.
  /// - Throws: `DecodingError` if the result does not fit the type.
  public func result<Value: Decodable>(as type: Value.Type) throws -> Value? {
    let result = state.withLock { $0.completion == .succeeded ? $0.result : nil }
    return try result.map { try JSONDecoder().decode(type, from: Data($0.json)) }
  }

  /// The number of batches that were repeated.
  ///
  /// A batch is repeated if a launch asks to save a checkpoint that an earlier launch has asked to save, with the same
  /// cursor and the same number of completed units. Checkpoints that were refused count too. Work for which the handler
  /// did not ask to save a checkpoint is not seen here. For a handler that begins at its last checkpoint, the number is
  /// at most 1 for each interruption; `Examples/TestKit/CleanupTests.swift` has a sample.
  public var repeatedBatches: Int {
    var seen: Set<TestCheckpoint.Place> = []
    return launches.reduce(0) { count, launch in
      let places = (launch.checkpoints + launch.refusedCheckpoints).map(\.place)
      defer { seen.formUnion(places) }
      return count + places.count(where: seen.contains)
    }
  }

  /// Asks the running launch to stop, as `Interruption.expiry(_:_:)` does. Call it in a fake, at exactly the place that
  /// matters, or in the test while the launch runs in another task.
  ///
  /// ```swift
  /// let source = FakeSource { page in
  ///   if page == 2 { request.expire(.networkLost) }
  ///   try Task.checkCancellation()
  /// }
  /// ```
  ///
  /// The sample is from `Examples/TestKit/ImporterTests.swift`. When the method returns, the handler's task is
  /// cancelled and `task.expiry` is set.
  /// - Parameter reason: why the launch has to stop.
  /// - Returns: `false` if no launch is running, or if the launch has been asked to stop before.
  @discardableResult
  public func expire(_ reason: ExpiryReason) -> Bool { state.withLock { $0.running }?.expire(reason) ?? false }

  /// Lets the running launch lose its worker, as `Interruption.workerLost(_:)` does. It does nothing if no launch is
  /// running.
  public func loseWorker() { state.withLock { $0.running }?.loseWorker() }
}
