import BatonModel
import BatonTelemetry
import Testing

@testable import BatonCoordinator
@testable import BatonStore

/// What the coordinator counts and shows, as a reader of `/metrics` sees it.
@Suite struct CoordinatorMetricsTests {
  private static let photos = IdentifierPattern(trusted: "com.example.photos.*")
  private static let news = IdentifierPattern(trusted: "com.example.news")

  private static func lines(_ registry: MetricsRegistry, of name: String) async -> [String] {
    await registry.snapshot().prometheusText.split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
  }

  private static func world(definitions: Int = 500) -> (MetricsRegistry, CoordinatorMetrics) {
    let registry = MetricsRegistry(date: { Timestamp(nanoseconds: 0) })
    return (registry, CoordinatorMetrics(factory: registry, definitions: definitions))
  }

  @Test(
    "A launch that ended is counted by definition, outcome and reason; its definition's other outcomes are there with 0"
  )
  func launches() async {
    let (registry, metrics) = Self.world()
    metrics.launchEnded(definition: Self.photos, outcome: .expired, reason: .hostBusy, duration: .seconds(2))
    #expect(await Self.lines(registry, of: Names.Metric.launches).map { $0.suffix(2) } == [" 1", " 0", " 0", " 0"])
    metrics.launchEnded(definition: Self.photos, outcome: .failed, reason: .hostBusy, duration: .milliseconds(50))
    metrics.launchEnded(definition: Self.photos, outcome: .expired, reason: nil, duration: .seconds(-1))
    let labels = #"baton_launches_total{definition="com.example.photos.*","#
    #expect(
      await Self.lines(registry, of: Names.Metric.launches) == [
        labels + #"outcome="expired",reason="hostBusy"} 1"#, labels + #"outcome="expired",reason="none"} 1"#,
        labels + #"outcome="failed",reason="none"} 1"#, labels + #"outcome="finished",reason="none"} 0"#,
        labels + #"outcome="lost",reason="none"} 0"#,
      ])
    #expect(await Self.lines(registry, of: "baton_launch_seconds_sum") == ["baton_launch_seconds_sum 2.05"])
    #expect(
      await Self.lines(registry, of: "baton_launch_seconds_bucket").first == #"baton_launch_seconds_bucket{le="0.1"} 2"#
    )
  }

  @Test("Everything that counts is there with 0 before anything happened")
  func beginning() async {
    let (registry, _) = Self.world()
    for name in [Names.Metric.batches, Names.Metric.batchesRepeated, "baton_resume_seconds_count"] {
      #expect(await Self.lines(registry, of: name) == ["\(name) 0"])
    }
    #expect(
      await Self.lines(registry, of: Names.Metric.spansDropped) == [#"baton_spans_dropped_total{reason="rejected"} 0"#])
  }

  @Test("Batches, checkpoints, resumptions, commits and drops are counted as they are told")
  func facts() async {
    let (registry, metrics) = Self.world()
    metrics.checkpoints(bytes: [64, 65, 300_000])
    metrics.checkpoints(bytes: [])
    metrics.batchRepeated()
    metrics.resumed(after: .milliseconds(700))
    metrics.groupCommit(.microseconds(800), operations: 3)
    metrics.spansDropped(7, .rejected)
    for line in [
      "baton_batches_total 3", "baton_batches_repeated_total 1", #"baton_checkpoint_bytes_bucket{le="64"} 1"#,
      #"baton_checkpoint_bytes_bucket{le="256"} 2"#, "baton_checkpoint_bytes_sum 300129",
      "baton_resume_seconds_sum 0.7",
      #"baton_commit_seconds_bucket{le="0.0005"} 0"#, #"baton_commit_seconds_bucket{le="0.001"} 1"#,
      #"baton_commit_operations_bucket{le="4"} 1"#, #"baton_spans_dropped_total{reason="rejected"} 7"#,
    ] {
      #expect(await registry.snapshot().prometheusText.contains(line + "\n"), "\(line)")
    }
  }

  @Test("Beyond its limit of definitions all others are one, in the counters and in the gauges")
  func definitions() async {
    let (registry, metrics) = Self.world(definitions: 1)
    let counts = (1...3).map {
      DefinitionCount(pattern: IdentifierPattern(trusted: "d\($0)"), state: .ready, count: $0)
    }
    registry.collect { metrics.families(of: CoordinatorGauges(requests: counts)) }
    let ready = await Self.lines(registry, of: Names.Metric.requests).filter { $0.contains("ready") }
    #expect(
      ready == [
        #"baton_requests{definition="d1",state="ready"} 1"#, #"baton_requests{definition="other",state="ready"} 5"#,
      ])
    metrics.launchEnded(definition: IdentifierPattern(trusted: "d3"), outcome: .lost, reason: nil, duration: .zero)
    #expect(
      await Self.lines(registry, of: Names.Metric.launches).filter { $0.hasSuffix(" 1") } == [
        #"baton_launches_total{definition="other",outcome="lost",reason="none"} 1"#
      ])
  }

  @Test("A definition that has requests shows each state; hosts show each condition, also with none")
  func gauges() async {
    let (registry, metrics) = Self.world()
    let gauges = CoordinatorGauges(
      requests: [DefinitionCount(pattern: Self.news, state: .running, count: 2)], readyOldest: nil,
      obstacles: ["noHosts": 4], hosts: [.away: 1, .ready: 3])
    registry.collect { metrics.families(of: gauges) }
    let states = await Self.lines(registry, of: Names.Metric.requests)
    #expect(states.count == RequestState.allCases.count)
    #expect(
      states.filter { !$0.hasSuffix(" 0") } == [#"baton_requests{definition="com.example.news",state="running"} 2"#])
    #expect(
      await Self.lines(registry, of: Names.Metric.hosts) == [
        #"baton_hosts{condition="away"} 1"#, #"baton_hosts{condition="draining"} 0"#,
        #"baton_hosts{condition="gone"} 0"#,
        #"baton_hosts{condition="outsideHours"} 0"#, #"baton_hosts{condition="paused"} 0"#,
        #"baton_hosts{condition="ready"} 3"#,
      ])
    #expect(await Self.lines(registry, of: Names.Metric.obstacles) == [#"baton_obstacles{reason="noHosts"} 4"#])
    #expect(await Self.lines(registry, of: Names.Metric.readyOldest) == ["baton_ready_oldest_seconds 0"])
  }

  @Test("What failed for good is counted by reason, beside a 0 for the other; refusals by code")
  func failures() async {
    let (registry, metrics) = Self.world()
    metrics.requestFailed(definition: Self.photos, isQuarantined: true)
    #expect(
      await Self.lines(registry, of: Names.Metric.requestsFailed) == [
        #"baton_requests_failed_total{definition="com.example.photos.*",reason="failed"} 0"#,
        #"baton_requests_failed_total{definition="com.example.photos.*",reason="quarantined"} 1"#,
      ])
    metrics.submissionsRefused(.unavailable)
    #expect(
      await Self.lines(registry, of: Names.Metric.submissionsRefused) == [
        #"baton_submissions_refused_total{code="immediateRunIneligible"} 0"#,
        #"baton_submissions_refused_total{code="notPermitted"} 0"#,
        #"baton_submissions_refused_total{code="tooManyPendingTaskRequests"} 0"#,
        #"baton_submissions_refused_total{code="unavailable"} 1"#,
      ])
  }

  @Test("Transfers are counted by how they ended, beside a 0 for every other end, with their bytes")
  func transfers() async {
    let (registry, metrics) = Self.world()
    let file = TransferredFile(path: "/f", bytes: 70, sha256: "")
    metrics.transferEnded(.done(file), .get, bytes: 70)
    metrics.transferEnded(.failed(TransferFailure(.wrongHash, "no")), .get, bytes: 5)
    metrics.transferEnded(.done(file), .post, bytes: 30)
    metrics.transferEnded(.cancelled, .put, bytes: 0)
    let lines = await Self.lines(registry, of: Names.Metric.transfersEnded)
    #expect(lines.count == 2 + TransferFailure.Code.allCases.count)
    #expect(
      lines.filter { !$0.hasSuffix(" 0") } == [
        #"baton_transfers_ended_total{outcome="cancelled",reason="none"} 1"#,
        #"baton_transfers_ended_total{outcome="done",reason="none"} 2"#,
        #"baton_transfers_ended_total{outcome="failed",reason="wrongHash"} 1"#,
      ])
    #expect(await Self.lines(registry, of: Names.Metric.transferReceived) == ["\(Names.Metric.transferReceived) 75"])
    #expect(await Self.lines(registry, of: Names.Metric.transferSent) == ["\(Names.Metric.transferSent) 30"])
    var gauges = CoordinatorGauges()
    gauges.transfers = [.running: 2]
    registry.collect { [gauges] in metrics.families(of: gauges) }
    #expect(
      await Self.lines(registry, of: Names.Metric.transfers) == [
        #"baton_transfers{state="running"} 2"#, #"baton_transfers{state="waiting"} 0"#,
      ])
  }

  @Test("The transfers that have not ended are those of connected hosts, until they end or are released")
  func openTransfers() {
    var desk = TransferDesk()
    let (alpha, beta) = (SessionID(1), SessionID(2))
    func status(_ request: Int64, _ state: TransferState) -> TransferStatus {
      TransferStatus(
        key: TransferKey(request: RequestID(request), index: 0), state: state, orderedAt: Timestamp(nanoseconds: 1))
    }
    let running = [1, 2, 3].map { status($0, .running) }
    _ = desk.note(TransferReport(statuses: running + [status(4, .waiting(.turn, until: nil))]), from: alpha)
    _ = desk.note(TransferReport(statuses: [status(5, .running)]), from: beta)
    #expect(desk.stages == [.running: 4, .waiting: 1])
    _ = desk.note(TransferReport(statuses: [status(1, .ended(.cancelled))], released: [RequestID(2)]), from: alpha)
    #expect(desk.stages == [.running: 2, .waiting: 1])
    desk.forget(alpha)
    #expect(desk.stages == [.running: 1])
  }

  @Test("The last success counts, and a definition whose successes are not known is asked for")
  func successes() async {
    let (registry, metrics) = Self.world(definitions: 1)
    let counts = [Self.photos, Self.news].map { DefinitionCount(pattern: $0, state: .succeeded, count: 2) }
    #expect(metrics.unknownSuccesses(among: counts, limit: 1) == [Self.photos])
    metrics.requestSucceeded(definition: Self.photos, at: Timestamp(nanoseconds: 9))
    metrics.requestSucceeded(definition: Self.photos, at: Timestamp(nanoseconds: 5))
    #expect(metrics.lastSuccesses() == [Self.photos: Timestamp(nanoseconds: 9)])
    #expect(metrics.unknownSuccesses(among: counts, limit: 9) == [Self.news])
    var gauges = CoordinatorGauges()
    gauges.sinceSuccess = [Self.photos: .seconds(90)]
    registry.collect { [gauges] in metrics.families(of: gauges) }
    #expect(
      await Self.lines(registry, of: Names.Metric.lastSuccess) == [
        #"baton_last_success_seconds{definition="com.example.photos.*"} 90"#
      ])
  }

  @Test("A paused fleet is seen, and so are the slots of each host that holds a lease")
  func slots() async {
    let (registry, metrics) = Self.world(definitions: 1)
    let paused = Self.dispatcher { dispatcher in
      dispatcher.hosts[HostName("a")] = Self.host("a", freeSlots: 1)
      dispatcher.hosts[HostName("b")] = Self.host("b", freeSlots: 2, hasLease: false)
      _ = dispatcher.setPaused(true)
    }
    let gauges = CoordinatorGauges(paused, requests: [], readyOldest: nil)
    registry.collect { metrics.families(of: gauges) }
    #expect(await Self.lines(registry, of: Names.Metric.fleetPaused) == ["baton_fleet_paused 1"])
    #expect(await Self.lines(registry, of: Names.Metric.hostSlots) == [#"baton_host_slots{host="a"} 2"#])
    #expect(await Self.lines(registry, of: Names.Metric.hostSlotsUsed) == [#"baton_host_slots_used{host="a"} 1"#])
  }

  /// One definition with three ready requests, its second version the newest, and hosts as `change` makes them.
  private static func dispatcher(_ change: (inout Dispatcher) -> Void) -> Dispatcher {
    var dispatcher = Dispatcher(leaseTerm: .seconds(15))
    for version in 1...2 {
      var definition = Definition(pattern: news, kind: .refresh)
      definition.maxRunning = version == 1 ? 0 : nil
      let id = DefinitionID(Int64(version))
      dispatcher.learn(id, definition)
      dispatcher.noteReady(RequirementClass(definition: id, priority: .background))
    }
    change(&dispatcher)
    return dispatcher
  }

  private static let ready = [
    DefinitionCount(pattern: news, state: .ready, count: 3), DefinitionCount(pattern: news, state: .running, count: 9),
  ]

  private static func host(_ name: String, freeSlots: Int, hasLease: Bool = true) -> HostState {
    var state = HostState.unknown(HostName(name))
    state.host = Host(
      name: HostName(name), capabilities: Capabilities(slots: 2, handlers: [news]), conditions: .assumed,
      hasLease: hasLease,
      usedSlots: 2 - freeSlots)
    state.link = .attached
    return state
  }

  @Test("Ready requests are counted once for each obstacle, however many hosts have it")
  func obstacles() {
    let busy = Self.dispatcher { dispatcher in
      for name in ["a", "b"] { dispatcher.hosts[HostName(name)] = Self.host(name, freeSlots: 0) }
      dispatcher.hosts[HostName("c")] = Self.host("c", freeSlots: 2, hasLease: false)
    }
    let gauges = CoordinatorGauges(busy, requests: Self.ready, readyOldest: nil)
    #expect(gauges.obstacles == ["slotsInUse": 3], "a host that is gone is not counted beside those that are there")
    #expect(gauges.hosts == [.ready: 2, .gone: 1])
  }

  @Test("What one host takes is kept by no other; what concerns the fleet keeps all the same")
  func freeHost() {
    let free = Self.dispatcher { dispatcher in
      dispatcher.hosts[HostName("a")] = Self.host("a", freeSlots: 0)
      dispatcher.hosts[HostName("b")] = Self.host("b", freeSlots: 1)
    }
    #expect(CoordinatorGauges(free, requests: Self.ready, readyOldest: nil).obstacles == [:])
    let paused = Self.dispatcher { dispatcher in
      dispatcher.hosts[HostName("b")] = Self.host("b", freeSlots: 1)
      _ = dispatcher.setPaused(true)
    }
    #expect(CoordinatorGauges(paused, requests: Self.ready, readyOldest: nil).obstacles == ["fleetPaused": 3])
  }

  @Test("Without hosts that is the reason; without anything ready there is none")
  func noHosts() {
    let empty = Self.dispatcher { _ in }
    #expect(CoordinatorGauges(empty, requests: Self.ready, readyOldest: nil).obstacles == ["noHosts": 3])
    #expect(CoordinatorGauges(empty, requests: [], readyOldest: nil).obstacles == [:])
  }
}
