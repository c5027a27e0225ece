import BatonCommands
import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Synchronization
import Testing

/// `baton simulate` and `baton evict`, and where their effects are shown.
@Suite struct SimulatingTests {
  @Test(
    arguments: [
      (["launch", "com.example.report"], "simulate launch com.example.report 0 -"),
      (
        ["launch", "com.example.report", "--request", "4", "--host", "beta"],
        "simulate launch com.example.report 4 beta"
      ),
      (["launch", "com.example.report", "-o", "json"], "simulate launch com.example.report 0 -"),
      (["expire", "com.example.report"], "simulate expiry com.example.report 0 -"),
      (["expire", "com.example.report", "--reason", "batteryLow"], "simulate expiry com.example.report 0 batteryLow"),
      (
        ["expire", "com.example.report", "--reason", "thermal", "-o", "json"],
        "simulate expiry com.example.report 0 thermal"
      ),
      (["transfer", "42/0", "--fail"], "simulate transfer 42/0 failure"),
      (["transfer", "42/0", "--interrupt", "-o", "json"], "simulate transfer 42/0 interruption"),
    ])
  func `a launch is simulated and says so`(arguments: [String], call: String) async throws {
    let world = World()
    let run = await world.baton(["simulate"] + arguments)
    #expect(run.status == 0)
    #expect(world.coordinator.calls == [call])
    try Golden.expect(run.transcript, is: (["simulate"] + arguments).golden)
  }

  @Test(
    arguments: [
      (["--power", "battery", "--battery", "15"], "10.0", ConditionOverrides(power: .battery, battery: 15)),
      (
        [
          "--low-power-mode", "true", "--thermal", "serious", "--network", "metered", "--idle", "false", "--for", "90s",
        ],
        "1.5", ConditionOverrides(lowPowerMode: true, thermal: .serious, network: .metered, isIdle: false)
      ),
      (["--idle", "true", "-o", "json"], "10.0", ConditionOverrides(isIdle: true)),
      (["--end"], "0.0", ConditionOverrides()),
    ])
  func `conditions are simulated for a while, and taken back`(
    options: [String], minutes: String, overrides: ConditionOverrides
  ) async throws {
    let world = World()
    let run = await world.baton(["simulate", "conditions", "alpha"] + options)
    #expect(run.status == 0)
    #expect(world.coordinator.state.withLock { $0.overrides } == [overrides])
    let seconds = Double(minutes)! * 60
    #expect(world.coordinator.calls == ["simulate conditions alpha \(Duration.seconds(seconds))"])
    try Golden.expect(run.transcript, is: (["simulate", "conditions"] + options).golden)
  }

  private static let coordinators = [
    CoordinatorReport(
      number: 1, place: CoordinatorPlace(name: "one", version: "1", workers: "one:7420", operators: "one:7422"),
      hosts: 1, isSteward: true, answers: true),
    CoordinatorReport(
      number: 2, place: CoordinatorPlace(name: "two", version: "1", workers: "two:7420", operators: "two:7422"),
      hosts: 1, isSteward: false, answers: false),
    CoordinatorReport(
      number: 3, place: CoordinatorPlace(name: "three", version: "1", workers: "three:7420"), hosts: 2,
      isSteward: false, answers: false, isEnded: true),
  ]

  /// A coordinator that refuses the first simulations, because another one serves the host.
  private func refusing(_ count: Int) -> World {
    World { state in
      var beta = HostReport.beta
      beta.coordinator = 2
      (state.hosts, state.coordinators) = ([beta], Self.coordinators)
      state.errors = Array(repeating: OperatorError.conflict("no host here"), count: count)
    }
  }

  @Test(arguments: [
    ["launch", "com.example.report", "--host", "beta"], ["launch", "com.example.report"],
    ["conditions", "beta", "--power", "battery"],
  ])
  func `a simulation on a host of another coordinator begins there`(arguments: [String]) async {
    let world = refusing(1)
    #expect(await world.baton(["simulate"] + arguments).status == 0)
    #expect(world.backend.targets.withLock { $0.map(\.place?.name) } == [nil, "two"])
    #expect(world.coordinator.calls.filter { $0.hasPrefix("simulate") }.count == 2)
  }

  @Test func `if no coordinator can begin it, the first one says why`() async {
    let world = refusing(1)
    world.coordinator.state.withLock { $0.coordinators = [Self.coordinators[0]] }
    let alone = await world.baton("simulate", "launch", "com.example.report")
    #expect(alone.status == 4 && alone.error.contains("no host here"))
    #expect(world.backend.targets.withLock { $0.count } == 1)
  }

  @Test(arguments: ExpiryReason.Kind.allCases)
  func `every reason but 'simulated' itself can be simulated`(reason: ExpiryReason.Kind) async {
    let world = World()
    let run = await world.baton("simulate", "expire", "com.example.report", "--reason", reason.rawValue)
    #expect(run.status == (reason == .simulated ? 64 : 0))
    let calls = reason == .simulated ? [] : ["simulate expiry com.example.report 0 \(reason.rawValue)"]
    #expect(world.coordinator.calls == calls)
  }

  @Test(
    arguments: [
      ["simulate", "launch", "a"], ["simulate", "expire", "a"], ["simulate", "conditions", "a", "--end"],
      ["simulate", "transfer", "42/0", "--fail"],
    ])
  func `what cannot be simulated has its status`(arguments: [String]) async {
    for (error, status) in [
      (OperatorError.notFound("there is no host 'a'; known: alpha"), Int32(3)),
      (.conflict("no host can launch 'a', not even simulated: alpha: the host is draining"), 4),
    ] {
      let run = await World { $0.errors = [error] }.baton(arguments)
      #expect(run.status == status)
      #expect(run.error == "error: \(error)\n")
    }
  }

  @Test(
    .contract(43.2),
    arguments: [
      ("show-poked", ["show", "com.example.news"]), ("show-poked-json", ["show", "com.example.news", "-o", "json"]),
      ("show-expiring", ["show", "com.example.photos.export.42"]), ("hosts-simulated", ["hosts"]),
      ("host-simulated", ["hosts", "epsilon"]),
    ])
  func `what is simulated is marked where it is shown`(name: String, arguments: [String]) async throws {
    let world = World {
      $0.details = [.poked, .expiring]
      $0.hosts = [.alpha, .epsilon]
    }
    let run = await world.baton(arguments)
    #expect(run.output.lowercased().contains("simulated"))
    try Golden.expect(run.transcript, is: name)
  }

  @Test(
    arguments: [
      (["com.example.photos.*", "--host", "alpha"], "evicted com.example.photos.* alpha true"),
      (["com.example.photos.export.42"], "evicted com.example.photos.export.42 - true"),
      (["com.example.photos.*", "--allow"], "evicted com.example.photos.* - false"),
      (["com.example.photos.*", "-o", "json"], "evicted com.example.photos.* - true"),
    ])
  func `an eviction says from which hosts`(arguments: [String], call: String) async throws {
    let world = World { $0.evicted = [HostName("alpha"), HostName("beta")] }
    let run = await world.baton(["evict"] + arguments)
    #expect(run.status == 0)
    #expect(world.coordinator.calls == [call])
    try Golden.expect(run.transcript, is: (["evict"] + arguments).golden)
  }
}

extension [String] {
  /// The name of the golden file for these arguments.
  var golden: String {
    map { $0.lowercased().replacing(/[^a-z0-9]+/, with: "") }.filter { !$0.isEmpty }.joined(separator: "-")
  }
}
