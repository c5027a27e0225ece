import BatonModel
import Testing

@testable import BatonCore

/// A worker's core with a time that the test moves. Its methods pass the facts that the coordinator, the handlers and
/// the host would bring, and return the effects.
struct Bench {
  static let term = Duration.seconds(15)
  static let trace = TraceContext(traceparent: "00-07070707070707070707070707070707-0101010101010101-01")!

  var core: WorkerCore
  var now = Instant(nanoseconds: 0)

  init(endsProcessOnOverrun: Bool = false, knowsOtherCoordinators: Bool = false) {
    core = WorkerCore(
      host: HostName("a"), incarnation: Incarnation("a1"), version: "1", capabilities: Capabilities(slots: 4),
      endsProcessOnOverrun: endsProcessOnOverrun, knowsOtherCoordinators: knowsOtherCoordinators)
  }

  /// Returns a bench that is connected and has been welcomed at time 0.
  static func welcomed(
    endsProcessOnOverrun: Bool = false, knowsOtherCoordinators: Bool = false, term: Duration = term
  ) -> Bench {
    var bench = Bench(endsProcessOnOverrun: endsProcessOnOverrun, knowsOtherCoordinators: knowsOtherCoordinators)
    _ = bench.connects()
    _ = bench.hears(.welcome(leaseTerm: term))
    return bench
  }

  mutating func connects() -> [WorkerCore.Effect] { core.connected(at: now) }
  mutating func hears(_ message: CoordinatorMessage) -> [WorkerCore.Effect] { core.received(message, at: now) }

  /// Connects again, and returns the effects of the welcome.
  mutating func reconnects() -> [WorkerCore.Effect] {
    _ = connects()
    return hears(.welcome(leaseTerm: Self.term))
  }

  /// Lets time pass with a tick in each tenth of a second. Returns the effects except heartbeats, which get no answer.
  mutating func pass(_ seconds: Double) -> [WorkerCore.Effect] {
    (0..<Int(seconds * 10)).flatMap { _ in
      now = now + .milliseconds(100)
      return core.tick(at: now).filter { effect in
        if case .send(.heartbeat) = effect { false } else { true }
      }
    }
  }

  /// Lets time pass like `pass`, and answers each heartbeat at once.
  mutating func passConnected(_ seconds: Double) -> [WorkerCore.Effect] {
    (0..<Int(seconds * 10)).flatMap { _ in
      now = now + .milliseconds(100)
      return core.tick(at: now).filter { effect in
        guard case .send(.heartbeat(let number)) = effect else { return true }
        _ = core.received(.heartbeatAnswered(number: number), at: now)
        return false
      }
    }
  }

  static func job(_ kind: JobKind = .continued, _ change: (inout Definition) -> Void = { _ in }) -> Definition {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: kind)
    definition.requirements.requiresIdle = false
    if kind == .continued { definition.title = "Job" }
    change(&definition)
    return definition
  }

  static func assignment(
    _ request: Int64, launch: Int = 1, gpus: [Int] = [], expiring: ExpiryReason? = nil
  ) -> Assignment {
    Assignment(
      launch: key(request, launch), identifier: JobIdentifier("com.example.a")!, requestNumber: Int(request),
      definition: DefinitionID(1), priority: .utility, trace: trace, startedAt: Timestamp(nanoseconds: 0), gpus: gpus,
      pendingExpiry: expiring)
  }

  /// Receives a definition and a launch of it from the coordinator.
  @discardableResult
  mutating func starts(_ assignment: Assignment = assignment(1), _ job: Definition = job()) -> [WorkerCore.Effect] {
    _ = hears(.definition(DefinitionID(1), job))
    return hears(.launch(assignment))
  }

  /// Lets the handler of a launch commit its next batch.
  mutating func commits(_ request: Int64 = 1, question: Int = 1) -> [WorkerCore.Effect] {
    let batches = core.launches[key(request)]?.assignment.progress.batches ?? 0
    let commit = Commit(cursor: nil, completedUnits: Int64(batches + 1), totalUnits: nil)
    return core.ask(key(request), .commit(commit), id: question)
  }

  static func checkpoint(_ request: Int64 = 1, batch: Int = 0) -> Checkpoint {
    Checkpoint(launch: key(request), batch: batch, completedUnits: Int64(batch + 1))
  }

  static func hello(_ running: RunningLaunch..., conditions: Conditions = .assumed) -> WorkerCore.Effect {
    .send(
      .hello(
        Hello(
          host: HostName("a"), incarnation: Incarnation("a1"), version: "1", capabilities: Capabilities(slots: 4),
          conditions: conditions, running: running)))
  }

  static let onBattery = {
    var conditions = Conditions.assumed
    conditions.power.value = .battery
    return conditions
  }()
}

func key(_ request: Int64, _ number: Int = 1) -> LaunchKey { LaunchKey(request: RequestID(request), number: number) }

extension WorkerCore.Effect {
  /// The effects when the worker itself expires a launch: the handler is told, and the coordinator.
  static func expiry(_ launch: LaunchKey, _ reason: ExpiryReason, _ deadline: Instant) -> [Self] {
    [.expire(launch, reason, deadline: deadline), .send(.expiring(launch, reason))]
  }
  static func ended(_ launch: LaunchKey, _ outcome: LaunchOutcome, isGraceful: Bool = true) -> Self {
    .send(.ended(Ending(launch: launch, outcome: outcome, isGraceful: isGraceful)))
  }
  static func expire(_ launch: LaunchKey, _ reason: ExpiryReason, deadline: Instant) -> Self {
    .expire(launch, ClosingWindow(reason, until: deadline))
  }
  static func done(_ launch: LaunchKey, question: Int = 1) -> Self { .answered(launch, question: question, .done) }
  static func refused(_ launch: LaunchKey, _ text: String, isSuperseded: Bool, question: Int = 1) -> Self {
    .answered(launch, question: question, .refused(text, isSuperseded: isSuperseded))
  }
  static let givenUp = Self.reconnect(
    "the coordinator has not answered for half of the lease's term, so another one is tried")
  static let lapsed = Self.reconnect("the lease ran out before the coordinator renewed it")
}
