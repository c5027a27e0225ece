import BatonModel
import BatonStore
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// Commands that change many requests: `set` and `simulate`. `PeopleTests` and others have `cancel` and `retry`.
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

  private static let flow: [RequestRecord] = [
    .example(1, "com.example.fetch", .succeeded) { $0.flow = RequestID(1) },
    .example(2, "com.example.work", .running) { $0.flow = RequestID(1) },
    .example(3, "com.example.report", .scheduled) { $0.flow = RequestID(1) }, .example(4, "com.example.b", .ready),
  ]

  private static func cancelling() -> World {
    World(flow) { state in
      state.cancellations = [
        .ended(RequestID(3), JobIdentifier(trusted: "com.example.report"), number: 1),
        .ended(RequestID(2), JobIdentifier(trusted: "com.example.work"), number: 1),
      ]
    }
  }

  @Test func `cancel --flow cancels a flow in one call, after a yes`() async {
    let world = Self.cancelling()
    let run = await world.baton("cancel", "--flow", "1", "--yes")
    #expect(run.status == 0, "\(run.error)")
    #expect(run.output == "com.example.report, request 1: cancelled\ncom.example.work, request 1: cancelled\n")
    #expect(Self.calls(world, "cancel").count == 1)
    #expect(Self.calls(world, "cancel").first?.contains("flow") == true, "\(world.coordinator.calls)")
    let json = await Self.cancelling().baton("cancel", "--flow", "1", "--yes", "-o", "json")
    #expect(json.status == 0 && json.output.contains("com.example.work"), "\(json.output)")
  }

  @Test func `cancel --flow asks, shows what would be cancelled, and chooses nothing else`() async {
    let world = Self.cancelling()
    let run = await world.baton("cancel", "--flow", "1")
    #expect(run.status == 64, "a script has to say --yes")
    #expect(run.error.contains("this would cancel 2 requests (1 of them running): confirm with --yes"), "\(run.error)")
    let rehearsal = await world.baton("cancel", "--flow", "1", "--dry-run")
    #expect(
      rehearsal.output == """
        com.example.work, request 1: would be cancelled, running
        com.example.report, request 1: would be cancelled, scheduled

        """, "\(rehearsal)")
    for more in [["com.example.b"], ["--all"], ["--state", "ready"], ["--by", "ana"]] {
      #expect(await world.baton(["cancel", "--flow", "1"] + more).status == 64, "\(more)")
    }
    #expect(Self.calls(world, "cancel").isEmpty)
    let ended = await World(
      Self.flow.map { record in
        var record = record
        record.state = .cancelled
        return record
      }
    ).baton("cancel", "--flow", "1", "--yes")
    #expect(ended.status == 3 && ended.error.contains("the flow 1 has no unfinished request"), "\(ended.error)")
  }

  @Test func `one command changes at most 10,000 requests, or none`() async {
    let many = (1...10_001).map { RequestRecord.example(Int64($0), "com.example.n\($0)", .ready) }
    let world = World(many)
    let run = await world.baton("set", "com.example.*", "priority=utility", "--yes")
    #expect(run.status == 64)
    #expect(run.error.contains("more than 10000 requests match"), "\(run.error)")
    #expect(Self.calls(world, "set").isEmpty)
  }

  @Test(arguments: [
    (["cancel", "com.example.b"], "com.example.b, request 1: would be cancelled, ready\n"),
    (["retry", "com.example.f"], "com.example.f, request 1: would go on at batch 0\n"),
    (
      ["set", "com.example.b", "priority=utility"],
      "com.example.b, request 1: priority would be utility, is background\n"
    ),
    (["set", "com.example.c", "spread=4"], "com.example.c, request 1: spread would be 4\n"),
    (["simulate", "launch", "com.example.b"], "com.example.b, request 1: would be launched, ready\n"),
    (["simulate", "expire", "com.example.c"], "com.example.c, request 1: its launch would be asked to stop\n"),
  ])
  func `a dry run of one request says what would be, and needs no yes`(arguments: [String], output: String) async {
    let world = World(Self.requests + [.example(5, "com.example.f", .failed)]) { state in
      state.cancellations = [.ended(RequestID(2), JobIdentifier(trusted: "com.example.b"), number: 1)]
    }
    let run = await world.baton(arguments + ["--dry-run"])
    #expect(run.status == 0, "\(run.error)")
    #expect(run.output == output)
    let changes = world.coordinator.calls.filter { call in
      ["cancel ", "retry ", "set ", "simulate "].contains { call.hasPrefix($0) }
    }
    #expect(changes.isEmpty, "\(changes)")
    #expect(await world.baton(arguments + ["--yes"]).status == 0, "a yes that is not needed does no harm")
  }

  @Test func `a dry run of a request that would be refused is refused`() async {
    let world = World(Self.requests)
    let run = await world.baton("retry", "com.example.b", "--dry-run")
    #expect(run.status == 4)
    #expect(run.error == "error: nothing would be changed: com.example.b, request 1 is ready\n")
    let none = await world.baton("cancel", "com.example.b", "--request", "7", "--dry-run")
    #expect(none.status == 3)
    #expect(none.error.contains("nothing to cancel: request 7 of 'com.example.b' has ended"))
  }

  @Test(arguments: [(false, "this is final; "), (true, "this is final, and the repetition has ended with it; ")])
  func `cancel says that it is final, and how to begin again`(repeats: Bool, words: String) async {
    let cancelled = RequestRecord.example(1, "com.example.b", .cancelled) { $0.repeats = repeats }
    let world = World([cancelled]) { state in
      state.cancellations = [.ended(RequestID(1), JobIdentifier(trusted: "com.example.b"), number: 1)]
    }
    let run = await world.baton("cancel", "com.example.b")
    #expect(run.error == "\(words)to begin again: baton submit com.example.b\n")
    #expect(await world.baton("cancel", "com.example.b", "--quiet").error.isEmpty)
    let chained = World([cancelled, .example(2, "com.example.b", number: 2, .scheduled) { $0.repeats = repeats }]) {
      $0.cancellations = [.ended(RequestID(1), JobIdentifier(trusted: "com.example.b"), number: 1)]
    }
    let one = await chained.baton("cancel", "com.example.b", "--request", "1")
    #expect(one.error == "this is final; to begin again: baton submit com.example.b\n", "its chain goes on")
  }

  @Test func `one request is set without a question`() async {
    let world = World(Self.requests)
    let run = await world.baton("set", "com.example.b", "priority=utility")
    #expect(run.status == 0)
    #expect(Self.calls(world, "set") == ["set com.example.b priority utility"])
  }

  @Test(arguments: [([String](), ""), (["--request", "2"], " 2")])
  func `set spread changes the lanes of one request, and says what they do`(options: [String], number: String) async {
    let world = World(Self.requests + [.divided])
    let run = await world.baton(["set", "com.example.sums", "spread=8"] + options)
    #expect(run.status == 0, "\(run.error)")
    #expect(Self.calls(world, "set") == ["set com.example.sums\(number) spread 8"])
    #expect(
      run.output == "com.example.sums, request 2: spread 8; 1 of 6 shards done, 2 running on 2 hosts, 1 ready, "
        + "1 waiting, 1 failed; 3 of 8 lanes in use\n")
    let json = await world.baton(["set", "com.example.sums", "spread=8", "-o", "jsonl"] + options)
    #expect(json.output.contains(#""shards":{"lanes":8,"lanesInUse":3,"#), "\(json.output)")
    let rehearsal = World([.divided])
    let dry = await rehearsal.baton(["set", "com.example.sums", "spread=8", "--dry-run"] + options)
    #expect(dry.output == "com.example.sums, request 2: spread would be 8, is 3\n", "\(dry.error)")
    #expect(Self.calls(rehearsal, "set").isEmpty)
  }

  @Test func `a request that was not launched yet has no shards to tell of when its lanes are set`() async {
    let run = await World(Self.requests).baton("set", "com.example.b", "spread=8")
    #expect(run.output == "com.example.b, request 1: spread 8\n", "\(run.error)")
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
    ["set", "com.example.*", "spread=2"], ["set", "com.example.a", "spread=0"], ["set", "com.example.a", "x=1"],
    ["set", "com.example.a", "priority=high"],
    ["set", "com.example.*", "priority=utility", "--request", "1"],
    ["simulate", "expire"], ["simulate", "launch", "com.*", "--request", "2"],
  ])
  func `what contradicts itself is a usage error`(arguments: [String]) async {
    #expect(await World(Self.requests).baton(arguments).status == 64)
  }
}
