import BatonBase
import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import Logging
import SwiftProtobuf
import Synchronization
import Testing

@testable import BatonCoordinator

/// What a coordinator answers of a fleet with more hosts than it looks at in one go.
@Suite(.timeLimit(.minutes(10))) struct LargeFleetTests {
  private static let a = JobIdentifier("com.example.a.1")!
  private static let b = JobIdentifier("com.example.a.2")!

  /// A coordinator with hosts of all kinds, whose clock goes on only when a test says so.
  private struct Crowd {
    let coordinator: Coordinator
    let time: Time

    final class Time: Sendable {
      private let passed = Mutex(Duration.zero)
      var now: Now {
        let passed = passed.withLock { $0 }
        return Now(instant: Instant(nanoseconds: 0) + passed, date: OperatorFixture.noon + passed)
      }
      func pass(_ duration: Duration) { passed.withLock { $0 += duration } }
    }

    init(_ hosts: Int, _ change: (Int, inout Hello) -> Void = { _, _ in }) async throws {
      let time = Time()
      let store = try SQLiteStore.inMemory()
      coordinator = Coordinator(
        store: store, settings: CoordinatorSettings(), clocks: Clocks(now: { time.now }, sleep: { _ in }),
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
      self.time = time
      coordinator.decide { $0.core.tick(at: time.now) }
      for index in 0..<hosts {
        var hello = Desk.hello("host-\(index)", "run-\(index)")
        change(index, &hello)
        add(hello)
      }
      _ = try await coordinator.apply([Desk.job("com.example.a.*", .processing) { $0.requirements.slots = 2 }])
    }

    func add(_ hello: Hello) {
      decide { dispatcher in
        guard case .attached(let held) = dispatcher.hello(hello, from: "test", at: time.now.instant) else { return [] }
        let lease = HostLease(host: hello.host, incarnation: hello.incarnation, number: 1)
        dispatcher.granted(lease, at: time.now.instant)
        return dispatcher.attached(hello.host, held: held, running: [], assignments: [])
      }
    }

    func decide(_ body: (inout Dispatcher) -> [Dispatcher.Effect]) {
      coordinator.decide { state in state.core.decide { body(&$0) } }
    }

    func submit(_ identifier: JobIdentifier, by principal: String = "ada") async throws {
      let order = SubmissionOrder(id: identifier.rawValue, identifier: identifier)
      guard case .accepted = try await coordinator.submit([order], by: principal)[0] else { throw CancellationError() }
    }

    var dispatcher: Dispatcher { coordinator.state.withLock { $0.core.dispatcher } }

    func names(_ filter: HostFilter, limit: Int) async throws -> [HostName] {
      var (names, after): ([HostName], HostName?) = ([], nil)
      repeat {
        let page = try await coordinator.hosts(filter, after: after, limit: limit)
        #expect(page.hosts.count <= limit && (page.summary == nil) == (after != nil))
        names += page.hosts.map(\.name)
        after = page.hasMore ? page.hosts.last?.name : nil
      } while after != nil
      return names
    }
  }

  @Test func `pages of hosts have every host that matches once, in the order of names`() async throws {
    let crowd = try await Crowd(300) { index, hello in
      if index % 3 == 0 { hello.conditions.power = Reading(.battery, source: "test") }
      if index % 7 == 0 { hello.conditions.labels = Reading(["site": "lab"], source: "test") }
    }
    let reports = try await crowd.coordinator.hostReports()
    #expect(reports.count == 300)
    let filters = [
      HostFilter(), HostFilter(conditions: [.onBattery]), HostFilter(labels: [.init(name: "site", value: "lab")]),
      HostFilter(pattern: PrincipalPattern("host-2*")), HostFilter(states: [.gone]), HostFilter(conditions: [.gpu]),
    ]
    for filter in filters {
      let expected = HostPage(reports, filter, after: nil, limit: .max)
      for limit in [1, 7, 1000] { #expect(try await crowd.names(filter, limit: limit) == expected.hosts.map(\.name)) }
      #expect(try await crowd.coordinator.hosts(filter, after: nil, limit: 5).summary == expected.summary)
    }
  }

  @Test func `a host that came or was forgotten is in the next page`() async throws {
    let crowd = try await Crowd(100)
    #expect(try await crowd.names(HostFilter(), limit: 1000).count == 100)
    crowd.add(Desk.hello("a-new-one", "run"))
    #expect(try await crowd.names(HostFilter(), limit: 1000).first == HostName("a-new-one"))
    let gone = HostName("host-5")
    crowd.decide { dispatcher in
      _ = dispatcher.processDied(gone, Incarnation("run-5"), isBlameless: true)
      dispatcher.leaseEnded(HostLease(host: gone, incarnation: Incarnation("run-5"), number: 1))
      let isForgotten = dispatcher.forget(gone)
      #expect(isForgotten)
      return []
    }
    crowd.add(Desk.hello("b-new-one", "run"))
    let names = try await crowd.names(HostFilter(), limit: 1000)
    #expect(names.count == 101 && !names.contains(gone) && names[1] == HostName("b-new-one"))
  }

  @Test func `an explanation has for each host what the dispatcher decides with, grouped or not`() async throws {
    for seed in 0..<20 as Range<UInt64> {
      var draw = FleetDraw(seed: seed)
      let crowd = try await Crowd(0)
      // Without hosts it waits, and a paused fleet accepts nothing.
      try await crowd.submit(Self.a)
      for index in 0..<150 {
        var hello = Desk.hello("host-\(index)", "run-\(index)")
        hello.capabilities.slots = draw.number(1...3)
        hello.conditions.power.value = draw.one(of: [.external, .battery])
        hello.conditions.thermal.value = draw.one(of: [.nominal, .serious])
        if draw.once(in: 3) { hello.capabilities.kinds = [.refresh] }
        crowd.add(hello)
      }
      if draw.once(in: 3) { crowd.decide { $0.setPaused(true) } }
      crowd.decide { dispatcher in
        for index in 0..<20 { dispatcher.disconnected(HostName("host-\(index)")) }
        return []
      }
      let record = try await crowd.coordinator.request(Self.a, number: nil)
      let requirementClass = RequirementClass(definition: record.definition, priority: record.priority)
      let definition = try #require(try await crowd.coordinator.store.definition(record.definition))
      let (fleet, hosts) = crowd.dispatcher.obstacles(
        for: definition, Self.a, by: record.principal, of: requirementClass)
      let whole = try await crowd.coordinator.explain(Self.a, number: nil)
      let told = Dictionary(grouping: whole.lines, by: \.host).mapValues { $0.map(\.code) }
      #expect(told[nil] ?? [] == fleet.map(\.code), "seed \(seed)")
      for (host, obstacles) in hosts { #expect(told[host] ?? [] == obstacles.map(\.code), "seed \(seed), \(host)") }
      let grouped = try await crowd.coordinator.explain(Self.a, number: nil, groupingBeyond: 20)
      #expect(grouped.verdict == whole.verdict && grouped.advice == whole.advice)
      let groups = try #require(grouped.groups)
      #expect(groups.groups.map(\.count).reduce(0, +) == 150 && groups.moreGroups == 0)
      for group in groups.groups {
        let same = hosts.filter { $0.1.map(\.code).unique == group.codes }.map(\.0)
        #expect(group.count == same.count && group.names == Array(same.sorted().prefix(20)), "seed \(seed)")
      }
      for row in groups.rows {
        #expect(row.hosts == hosts.count { $0.1.map(\.code).contains(row.code) }, "seed \(seed)")
        #expect(row.alone == hosts.count { Set($0.1.map(\.code)) == [row.code] }, "seed \(seed)")
      }
    }
  }

  /// The names of the hosts that are draining, as an explanation tells them.
  private func draining(_ crowd: Crowd, _ identifier: JobIdentifier) async throws -> Int {
    try await crowd.coordinator.explain(identifier, number: nil).lines.count { $0.code == "hostDraining" }
  }

  @Test func `the hosts are examined once a second for all requests of a class`() async throws {
    let crowd = try await Crowd(100) { _, hello in hello.capabilities.slots = 1 }
    try await crowd.submit(Self.a)
    try await crowd.submit(Self.b)
    #expect(try await draining(crowd, Self.a) == 0)
    crowd.decide { $0.setDraining(HostName("host-1"), true) }
    crowd.time.pass(.milliseconds(999))
    #expect(try await draining(crowd, Self.a) == 0)
    #expect(try await draining(crowd, Self.b) == 0, "of the same class")
    crowd.time.pass(.milliseconds(1))
    #expect(try await draining(crowd, Self.b) == 1)
    #expect(try await draining(crowd, Self.a) == 1)
  }

  @Test func `a small fleet is examined for each call`() async throws {
    let crowd = try await Crowd(SharedExaminations.least) { _, hello in hello.capabilities.slots = 1 }
    try await crowd.submit(Self.a)
    #expect(try await draining(crowd, Self.a) == 0)
    crowd.decide { $0.setDraining(HostName("host-1"), true) }
    #expect(try await draining(crowd, Self.a) == 1)
  }

  /// How many hosts have each obstacle to a request.
  private func codes(_ identifier: JobIdentifier, _ crowd: Crowd) async throws -> [String: Int] {
    let lines = try await crowd.coordinator.explain(identifier, number: nil).lines
    return Dictionary(grouping: lines.filter { $0.host != nil }, by: \.code).mapValues(\.count)
  }

  @Test func `instances of a wildcard share nothing if one of them is evicted from a host`() async throws {
    let crowd = try await Crowd(100) { _, hello in hello.capabilities.slots = 1 }
    for index in 0..<30 {
      crowd.decide { $0.setEvicted(IdentifierPattern(Self.a), from: HostName("host-\(index)"), true) }
    }
    try await crowd.submit(Self.a)
    try await crowd.submit(Self.b)
    #expect(try await codes(Self.a, crowd)["evicted"] == 30)
    #expect(try await codes(Self.b, crowd)["evicted"] == nil)
  }

  @Test func `requests of principals whom hosts treat differently share nothing`() async throws {
    let crowd = try await Crowd(100) { index, hello in
      hello.capabilities.slots = 1
      if index < 10 { hello.capabilities.permissions = CommandPermissions(principals: [PrincipalPattern("bob")!]) }
    }
    try await crowd.submit(Self.a, by: "ada")
    try await crowd.submit(Self.b, by: "bob")
    #expect(try await codes(Self.a, crowd)["notPermittedOnHost"] == 10)
    #expect(try await codes(Self.b, crowd)["notPermittedOnHost"] == nil)
  }

  @Test func `the warning of a submission looks at all hosts once a second at most`() async throws {
    let crowd = try await Crowd(100) { _, hello in hello.capabilities.slots = 1 }
    let warning = try #require(crowd.coordinator.warnings(for: [Self.a])[0])
    #expect(warning.hasPrefix("no known host could run it now (host-0: it needs 2 slots and the host has 1)"))
    let known = crowd.coordinator.knownWarnings.withLock { $0.values.first?.at }
    crowd.time.pass(.milliseconds(999))
    #expect(crowd.coordinator.warnings(for: [Self.b])[0]?.contains(Self.b.rawValue) == true)
    #expect(crowd.coordinator.knownWarnings.withLock { $0.values.first?.at } == known)
    crowd.time.pass(.milliseconds(1))
    crowd.add(Desk.hello("wide", "run", slots: 2))
    #expect(crowd.coordinator.warnings(for: [Self.a]) == [nil])
  }

  @Test func `a list of requests with large payloads comes in messages of at most 1 MiB`() async throws {
    let fixture = try OperatorFixture()
    let coordinator = fixture.coordinator
    _ = try await coordinator.apply([Desk.job("com.example.a.*", .processing)])
    let orders = (0..<40).map { index in
      SubmissionOrder(
        id: "\(index)", identifier: JobIdentifier("com.example.a.\(index)")!,
        payload: Array(repeating: UInt8(index), count: Submission.maximumPayloadBytes))
    }
    _ = try await coordinator.submit(orders, by: "ada")
    for isNewestFirst in [false, true] {
      let filter = RequestFilter(isNewestFirst: isNewestFirst)
      let expected = try await coordinator.requests(filter, after: nil, limit: 1000).map(\.id)
      var (found, after): ([RequestID], RequestID?) = ([], nil)
      repeat {
        let page = try await RequestPage(of: coordinator, filter, after: after, limit: 1000).proto
        let bytes: [UInt8] = try page.serializedBytes()
        #expect(bytes.count <= 1 << 20 && !page.requests.isEmpty)
        found += page.requests.map { RequestID($0.id) }
        after = page.hasMore_p ? found.last : nil
      } while after != nil
      #expect(found == expected && found.count == 40)
      // A page that is full is one that others may follow.
      let short = try await RequestPage(of: coordinator, filter, after: nil, limit: 3).proto
      #expect(short.requests.count == 3 && short.hasMore_p)
    }
  }
}
