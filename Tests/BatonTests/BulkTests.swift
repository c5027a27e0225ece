import BatonModel
import BatonStore
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// Commands that change many requests: `set priority` and `simulate`. `PeopleTests` and others have `cancel` and
/// `retry`.
@Suite struct BulkTests {
  private static let requests: [RequestRecord] = [
    .example(1, "com.example.a", .scheduled), .example(2, "com.example.b", .ready) { $0.principal = "bo" },
    .example(3, "com.example.c", .running) { $0.host = HostName("alpha") },
    .example(4, "com.other.d", .ready),
  ]

  private static func calls(_ world: World, _ prefix: String) -> Set<String> {
    Set(world.coordinator.calls.filter { $0.hasPrefix(prefix) })
  }

  @Test func `set priority changes what waits below a pattern`() async {
    let world = World(Self.requests)
    let run = await world.baton("set", "com.example.*", "priority=userInitiated", "--yes")
    #expect(run.status == 0, "\(run.error)")
    #expect(
      Self.calls(world, "set") == [
        "set com.example.a 1 priority userInitiated", "set com.example.b 1 priority userInitiated",
      ])
    #expect(
      run.output == """
        com.example.a, request 1: priority userInitiated
        com.example.b, request 1: priority userInitiated

        """)
  }

  @Test func `one command changes at most 10,000 requests, or none`() async {
    let many = (1...10_001).map { RequestRecord.example(Int64($0), "com.example.n\($0)", .ready) }
    let world = World(many)
    let run = await world.baton("set", "com.example.*", "priority=utility", "--yes")
    #expect(run.status == 64)
    #expect(run.error.contains("more than 10000 requests match"), "\(run.error)")
    #expect(Self.calls(world, "set").isEmpty)
  }

  @Test func `one request is set without a question`() async {
    let world = World(Self.requests)
    let run = await world.baton("set", "com.example.b", "priority=utility")
    #expect(run.status == 0)
    #expect(Self.calls(world, "set") == ["set com.example.b priority utility"])
  }

  @Test(arguments: [
    ["set", "com.example.*", "priority=utility"], ["simulate", "expire", "com.example.*"],
    ["simulate", "launch", "com.example.*"],
  ])
  func `several requests need a yes, and a dry run changes nothing`(arguments: [String]) async {
    let world = World(Self.requests)
    let refused = await world.baton(arguments)
    #expect(refused.status == 64)
    #expect(refused.error.contains("confirm with --yes, or look at them with --dry-run"))
    let dry = await world.baton(arguments + ["--dry-run"])
    #expect(dry.status == 0)
    #expect(dry.output.contains("com.example."))
    #expect(Self.calls(world, "set").isEmpty && Self.calls(world, "simulate").isEmpty)
    var asked = World(Self.requests)
    asked.answer = "n"
    #expect(await asked.baton(arguments).status == 1)
    #expect(Self.calls(asked, "set").isEmpty && Self.calls(asked, "simulate").isEmpty)
  }

  @Test func `simulate expires what runs on a host, and launches what a submitter has waiting`() async {
    let world = World(Self.requests)
    let expired = await world.baton("simulate", "expire", "--host", "alpha", "--reason", "thermal", "--yes")
    #expect(expired.status == 0, "\(expired.error)")
    #expect(Self.calls(world, "simulate") == ["simulate expiry com.example.c 1 thermal"])
    let launched = await world.baton("simulate", "launch", "--by", "bo", "--yes", "-o", "name")
    #expect(launched.output == "com.example.b\n")
    let nothing = await world.baton("simulate", "launch", "com.nothing.*", "--yes")
    #expect(nothing.error == "nothing to launch: no waiting request matches\n")
  }

  @Test(arguments: [
    ["set", "com.example.*", "spread=2"], ["set", "com.example.a", "priority=high"], ["set", "com.example.a", "x=1"],
    ["set", "com.example.a", "priority=utility", "--yes"],
    ["set", "com.example.*", "priority=utility", "--request", "1"],
    ["simulate", "expire"], ["simulate", "launch", "com.example.a", "--dry-run"],
  ])
  func `what contradicts itself is a usage error`(arguments: [String]) async {
    #expect(await World(Self.requests).baton(arguments).status == 64)
  }
}
