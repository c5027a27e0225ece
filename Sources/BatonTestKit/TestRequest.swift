import BatonHandler
public import BatonModel
import Synchronization

/// One request whose handler is run as a worker runs it: launch after launch, each from the checkpoint of the one
/// before, on a manual clock.
///
/// ```swift
/// let request = TestRequest("com.example.db-cleanup")
/// let launch = try await request.launch(cleanup, interruptedBy: .expiry(.hostBusy, .after(batches: 1)))
/// #expect(launch.outcome == .expired(.hostBusy))
/// try await request.complete(cleanup)
/// ```
public final class TestRequest: Sendable {
  let settings: Settings
  /// The clock of all its launches: the only time there is. Hand it to code that sleeps or asks what time it is.
  public let clock: ManualClock
  let state: Mutex<State>

  /// A request that was never launched. What a coordinator would not take, the first launch throws.
  /// - Parameters:
  ///   - identifier: such as `com.example.export.42`.
  ///   - pattern: the definition's identifier if it is a wildcard, such as `com.example.export.*`; `task.wildcard` is
  ///     what the `*` matched.
  ///   - payload: at most 64 KiB.
  ///   - budget: longest launch; nil means what the kind allows: 30 s, 10 min, or no limit.
  ///   - closingWindow: from an expiry to its deadline; nil means 5 s for a refresh, 30 s for the others, and 2 s at most
  ///     if nothing can be saved any more.
  ///   - stallAfter: at twice that without progress a launch expires `stalled`; nil means 60 s for kind continued, never
  ///     for the others.
  ///   - retries: how often `complete` launches again after a failure. A definition has 3 by default; here the first
  ///     failure is the last, so that it is seen.
  ///   - batchDuration: how far each commit moves the clock, before it is durable.
  ///   - clock: one that is shared with the code under test, or with another request.
  public init(
    _ identifier: String, declaredAs pattern: String? = nil, kind: JobKind = .processing, payload: TestPayload? = nil,
    principal: String = "test", budget: Duration? = nil, closingWindow: Duration? = nil, stallAfter: Duration? = nil,
    retries: Int = 0, batchDuration: Duration = .zero, clock: ManualClock = ManualClock()
  ) {
    settings = Settings(
      identifier: identifier, pattern: pattern ?? identifier, kind: kind, payload: payload, principal: principal,
      budget: budget, closingWindow: closingWindow, stallAfter: stallAfter, retries: retries,
      batchDuration: batchDuration)
    self.clock = clock
    state = Mutex(State())
  }

  init(_ settings: Settings, planned: [Interruption], clock: ManualClock) {
    self.settings = settings
    self.clock = clock
    state = Mutex(State(planned: planned))
  }

  struct State {
    var launches: [TestLaunch] = []
    /// Where the next launch begins.
    var progress = Progress()
    var pace = Pace()
    var ledger = Ledger()
    var completion: Completion?
    var running: LaunchUnderTest?
    /// For the next launches that name none themselves.
    var planned: [Interruption] = []
  }

  /// The end of a request.
  public enum Completion: Hashable, Sendable {
    case succeeded
    /// A launch failed, or three in a row committed nothing and were lost, stalled or spent their budget.
    case failed(String)
    case cancelled(by: String)
  }

  /// How the request ended; nil while it can be launched again.
  public var completion: Completion? { state.withLock { $0.completion } }

  /// What its launches came to, in order.
  public var launches: [TestLaunch] { state.withLock { $0.launches } }

  /// What was saved by all launches, in order.
  public var checkpoints: [TestCheckpoint] { launches.flatMap(\.checkpoints) }

  /// What watchers saw of all launches, in order.
  public var updates: [TestUpdate] { launches.flatMap(\.updates) }

  /// The payload as its handler gets it; nil if it has none, or if it cannot be encoded.
  public var payload: [UInt8]? { try? settings.payload?.bytes.get() }

  /// How many batches came more than once: checkpoints that a launch asked to save, and an earlier one had asked to save
  /// before it, with the same cursor and units. What a handler did without asking to save it is not seen here.
  public var repeatedBatches: Int {
    var seen: Set<TestCheckpoint.Place> = []
    return launches.reduce(0) { count, launch in
      let places = (launch.checkpoints + launch.refusedCheckpoints).map(\.place)
      defer { seen.formUnion(places) }
      return count + places.count(where: seen.contains)
    }
  }

  /// Asks the launch that runs now to stop, as `Interruption.expiry` does: from a fake, at the very place that matters,
  /// or from outside.
  /// - Returns: false if none runs, or if it was asked before.
  @discardableResult
  public func expire(_ reason: ExpiryReason) -> Bool { state.withLock { $0.running }?.expire(reason) ?? false }

  /// The worker of the launch that runs now is gone, as with `Interruption.workerLost`. Nothing if none runs.
  public func loseWorker() { state.withLock { $0.running }?.loseWorker() }
}
