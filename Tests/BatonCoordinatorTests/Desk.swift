import BatonModel
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// A dispatcher with a clock in hand: says what workers and the store would say.
struct Desk {
  static let term = Duration.seconds(15)
  static let trace = TraceContext(
    traceID: TraceID(high: 7, low: 7), spanID: SpanID(0x0101_0101_0101_0101), isSampled: true)

  var dispatcher = Dispatcher(leaseTerm: term)
  var now = Instant(nanoseconds: 0)
  /// Where the wall clock and the steady clock stand; they go with `now`.
  var date = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
  var clocks: Now { Now(instant: now, date: date) }

  // MARK: Definitions

  static func job(
    _ pattern: String = "com.example.a", _ kind: JobKind = .continued, _ change: (inout Definition) -> Void = { _ in }
  ) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(pattern)!, kind: kind)
    definition.requirements.requiresIdle = false
    definition.work = Work(command: ["true"], items: .range(1...100))
    if kind == .continued { definition.title = "Job" }
    change(&definition)
    return definition
  }

  mutating func learn(_ id: Int64, _ definition: Definition = job()) {
    dispatcher.learn(DefinitionID(id), definition)
  }

  // MARK: Workers

  static func hello(
    _ host: String = "a", _ incarnation: String = "a1", slots: Int = 4, gpus: [GPU] = [], running: [RunningLaunch] = []
  ) -> Hello {
    var conditions = Conditions.assumed
    conditions.gpus = Reading(gpus, source: "test")
    return Hello(
      host: HostName(host), incarnation: Incarnation(incarnation), version: "1",
      capabilities: Capabilities(slots: slots),
      conditions: conditions, running: running)
  }

  /// Hello, and the lease that the store grants. The lease of the process `a2` has the number 2, unless the host has
  /// had a lease of that number.
  mutating func says(_ hello: Hello) -> Dispatcher.Welcome {
    let before = dispatcher.hosts[hello.host]
    let welcome = dispatcher.hello(hello, from: "127.0.0.1:9", at: now)
    guard case .attached = welcome else { return welcome }
    let known = before?.leaseNumber ?? 0
    let number = before?.incarnation == hello.incarnation ? known : max(Desk.number(hello.incarnation), known + 1)
    dispatcher.granted(HostLease(host: hello.host, incarnation: hello.incarnation, number: number), at: now)
    return welcome
  }

  private static func number(_ incarnation: Incarnation) -> Int64 { Int64(incarnation.rawValue.suffix(1)) ?? 1 }

  static func lease(_ host: String = "a", _ incarnation: String = "a1", number: Int64? = nil) -> HostLease {
    let incarnation = Incarnation(incarnation)
    return HostLease(host: HostName(host), incarnation: incarnation, number: number ?? Desk.number(incarnation))
  }

  /// The store has ended the present lease of this process, or any of its leases.
  mutating func leaseEnded(_ host: HostName, _ incarnation: Incarnation) {
    let number = dispatcher.hosts[host]?.leaseNumber ?? 0
    dispatcher.leaseEnded(HostLease(host: host, incarnation: incarnation, number: number))
  }

  /// Hello and the store's answer to it.
  @discardableResult
  mutating func attach(_ hello: Hello = hello(), assignments: [Assignment] = []) -> [Dispatcher.Effect] {
    guard case .attached(let held) = says(hello) else {
      Issue.record("\(hello.host) was not taken")
      return []
    }
    return dispatcher.attached(
      hello.host, hello.incarnation, held: held, running: hello.running, assignments: assignments)
  }

  /// A start on what the store says: hosts with their leases, and what runs on them.
  mutating func restore(
    _ definitions: [DefinitionID: Definition] = [:], readyClasses: [RequirementClass] = [],
    hosts: [(name: String, isDraining: Bool, incarnation: String?)] = [("a", false, "a1")],
    running: [LaunchKey] = [], change: (inout FleetRecord) -> Void = { _ in }
  ) {
    let records = hosts.map { host in
      HostRecord(
        name: HostName(host.name), isDraining: host.isDraining, incarnation: host.incarnation.map { Incarnation($0) },
        leaseNumber: host.incarnation.map { Desk.number(Incarnation($0)) } ?? 0,
        owner: host.incarnation == nil ? nil : 1, lastSeenAt: date)
    }
    var fleet = FleetRecord(
      storeIncarnation: "s", isPaused: false, epoch: 1, steward: 1, definitionsVersion: 0, hosts: records,
      running: running.map { launch in
        RunningRecord(
          launch: launch, host: HostName("a"), incarnation: Incarnation("a1"), requirementClass: ready(1),
          identifier: JobIdentifier("com.example.a")!, startedSteady: date)
      }, readyClasses: readyClasses, definitions: definitions)
    change(&fleet)
    dispatcher.restore(fleet, at: clocks)
  }

  // MARK: Requests

  static func assignment(
    _ request: Int64, launch: Int = 1, of definition: Int64 = 1, priority: Priority = .userInitiated, gpus: [Int] = [],
    expiring: ExpiryReason? = nil
  ) -> Assignment {
    Assignment(
      launch: key(request, launch), identifier: JobIdentifier("com.example.a")!, requestNumber: Int(request),
      definition: DefinitionID(definition), priority: priority, trace: trace, startedAt: Timestamp(nanoseconds: 0),
      gpus: gpus, pendingExpiry: expiring)
  }

  /// Claims one request for each assignment, in the store and here, on the only host.
  @discardableResult
  mutating func start(_ assignments: Assignment...) -> [Dispatcher.Effect] {
    assignments.flatMap { assignment -> [Dispatcher.Effect] in
      let reservations = dispatcher.reserve(assignment.requirementClass, count: 1)
      guard let first = reservations.first else {
        Issue.record("no place for \(assignment.launch)")
        return []
      }
      return dispatcher.settle(first, with: [assignment], hasMore: false)
    }
  }

  // MARK: Time

  mutating func advance(_ duration: Duration) { (now, date) = (now + duration, date + duration) }

  @discardableResult
  mutating func tick() -> [Dispatcher.Effect] { dispatcher.tick(at: clocks) }

  /// Ticks every second, and returns what comes of it.
  mutating func pass(_ seconds: Int) -> [Dispatcher.Effect] {
    (0..<seconds).flatMap { _ in
      advance(.seconds(1))
      return dispatcher.tick(at: clocks)
    }
  }

  var host: Host { dispatcher.hosts[HostName("a")]!.host }
}

func key(_ request: Int64, _ number: Int = 1) -> LaunchKey { LaunchKey(request: RequestID(request), number: number) }

func ready(_ definition: Int64, _ priority: Priority = .userInitiated) -> RequirementClass {
  RequirementClass(definition: DefinitionID(definition), priority: priority)
}

extension Dispatcher.Effect {
  static func send(_ message: CoordinatorMessage, to host: String = "a") -> Self { .send(HostName(host), message) }
  static let welcome = Self.send(.welcome(leaseTerm: Desk.term))
  static func definition(_ id: Int64, _ definition: Definition = Desk.job(), to host: String = "a") -> Self {
    .send(.definition(DefinitionID(id), definition), to: host)
  }
  static func endLease(_ host: String = "a", _ incarnation: String = "a1", countsAsLoss: Bool = true) -> Self {
    .endLease(Desk.lease(host, incarnation), countsAsLoss: countsAsLoss)
  }
}
