import BatonCommands
import BatonModel
import BatonStore
import ContractRows
import Foundation
import Testing

@testable import BatonCoordinator

@Suite struct ExplainingTests {
  private static let world = World {
    $0.explanation = .manifold
    $0.hosts = [.alpha, .beta, .delta, .epsilon, .gamma]
  }

  @Test(
    .contract(8.2, 45.1),
    arguments: [("explain-manifold", [String]()), ("explain-manifold-json", ["-o", "json"])])
  func `every obstacle on every host, with its source, its age, its end and what to do`(
    name: String, options: [String]
  ) async throws {
    let run = await Self.world.baton(["explain", "com.example.news"] + options)
    #expect(run.status == 2)
    #expect(run.error.isEmpty)
    try Golden.expect(run.transcript, is: name)
  }

  /// Twelve hosts: one is free, nine need the same change, two need two changes.
  private static let large = World {
    $0.explanation = .waiting
    let names = (1...9).map { "h\($0)" }
    let lines = names.enumerated().map { index, name in
      Explanation.line(name, .needsExternalPower, "sysfs", "AC0/online=0", age: index + 1)
    }
    $0.explanation.lines =
      lines
      + ["x1", "x2"].flatMap { host in
        [Explanation.line(host, .hostDraining), Explanation.line(host, .needsExternalPower)]
      }
    $0.hosts = (names + ["x1", "x2", "free"]).map { name in
      var host = HostReport.alpha
      host.name = HostName(name)
      return host
    }
  }

  @Test(arguments: [("explain-large", [String]()), ("explain-large-each", ["--each"])])
  func `hosts with the same obstacles are told together, unless each host is asked for`(
    name: String, options: [String]
  ) async throws {
    try Golden.expect(await Self.large.baton(["explain", "com.example.gpu"] + options).transcript, is: name)
  }

  @Test func `JSON says on how many hosts an obstacle stands, and on how many alone`() async throws {
    let json = await Self.large.baton("explain", "com.example.gpu", "-o", "jsonl").output
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    let summary = try #require(object["summary"] as? [[String: Any]])
    #expect(summary.map { $0["code"] as? String } == ["needsExternalPower", "hostDraining"])
    #expect(summary.map { $0["hosts"] as? Int } == [11, 2])
    #expect(summary.map { $0["alone"] as? Int } == [9, 0])
  }

  /// The factors: battery, power mode, priority and recent use, eviction by an operator, the host's own switch,
  /// budgets, spacing.
  @Test(.contract(25.1)) func `the seven factors appear by name`() async {
    let run = await Self.world.baton("explain", "com.example.news")
    let names: [Obstacle.Kind] = [
      .batteryLow, .lowPowerMode, .evicted, .kindNotAccepted, .allowanceSpent, .rateLimited,
    ]
    for name in names { #expect(run.output.contains("\n  \(name.rawValue) ")) }
    #expect(run.output.contains("\n3 requests go before it in its queue\n"))
    #expect(run.output.contains("no recent use (last 3d ago)"))
  }

  @Test(.contract(13.3)) func `a date that has not come is told, with how long is left`() async {
    let date = now + .seconds(720)
    let world = World {
      $0.explanation = .waiting
      $0.explanation.record.state = .scheduled
      $0.explanation.record.eligibleAt = date
      $0.explanation.lines = [Explanation.line(nil, .notBefore(date))]
    }
    let run = await world.baton("explain", "com.example.gpu")
    #expect(run.output.contains("com.example.gpu, request 1: scheduled, eligible 2026-03-01T06:42:00Z (in 12m)\n"))
    #expect(run.output.contains("clears at 06:42 UTC (in 12m)\n"))
  }

  @Test func `what the coordinator explains is in the text and in JSON, line by line`() async throws {
    let text = await Self.world.baton("explain", "com.example.news").output.split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    let json = await Self.world.baton("explain", "com.example.news", "-o", "jsonl").output
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    let obstacles = try #require(object["obstacles"] as? [[String: Any]])
    #expect(obstacles.map { $0["code"] as? String } == Explanation.manifold.lines.map(\.code))
    for line in Explanation.manifold.lines {
      #expect(text.contains(line.code))
      #expect(text.contains(line.text))
    }
    let keys: Set = [
      "host", "code", "text", "remedy", "permanent", "source", "raw", "ageSeconds", "reportedAt", "clearsAt",
    ]
    #expect(obstacles.allSatisfy { Set($0.keys) == keys })
    let names = (object["hosts"] as? [[String: Any]])?.map { $0["name"] as? String }
    #expect(names == ["alpha", "beta", "delta", "epsilon", "gamma"])
  }

  @Test(arguments: [40, 60, 100]) func `no line is wider than the terminal`(columns: Int) async {
    var world = Self.world
    world.terminal = .init(columns: columns, rows: 24)
    let run = await world.baton("explain", "com.example.news")
    let plain = run.output.replacing(/\u{1B}\[[0-9]+m/, with: "")
    #expect(plain != run.output)
    // The first lines are not wrapped: they are the request's name, state and position, which a person may copy whole.
    let tooWide = plain.components(separatedBy: "\n").dropFirst(2).filter { $0.count > max(columns, 48) }
    #expect(tooWide.isEmpty, "\(tooWide)")
  }

  @Test func `a hostile reading cannot write to the terminal`() async {
    let world = World {
      $0.explanation = .waiting
      $0.explanation.lines = [
        Explanation.line("\u{1B}[2Jalpha", .lowPowerMode, "\u{1B}]0;x\u{07}", "\u{1B}[31m", age: 1)
      ]
      $0.explanation.advice = "\u{1B}[2J"
    }
    let run = await world.baton("explain", "com.example.gpu")
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test func `a request that waits after a failure says why its last launch failed, in a bounded line`() async throws {
    func run(
      _ state: RequestState, _ outcome: LaunchOutcome.Kind?, _ reason: String?, _ options: String...
    ) async
      -> String
    {
      let world = World {
        $0.explanation = .waiting
        ($0.explanation.record.state, $0.explanation.record.lastOutcome) = (state, outcome)
        $0.explanation.record.reason = reason
      }
      return await world.baton(["explain", "com.example.gpu"] + options).output
    }
    let reason = "exit status 3\ndisk \u{1B}[31mfull"
    let failed = await run(.scheduled, .failed, reason)
    #expect(failed.contains("\nits last launch failed: exit status 3 disk \\u{1b}[31mfull\n"), "\(failed)")
    let json = await run(.scheduled, .failed, reason, "-o", "jsonl")
    #expect(json.contains("\"lastFailure\":\"exit status 3 disk"), "\(json)")
    let long = await run(.scheduled, .failed, String(repeating: "x", count: 5000), "-o", "jsonl")
    #expect(long.contains("\"" + String(repeating: "x", count: 199) + "…\""))
    for other in [
      await run(.scheduled, .lost, "host lost"), await run(.scheduled, .failed, nil), await run(.ready, nil, nil),
      await run(.failed, .failed, reason),
    ] {
      #expect(!other.contains("its last launch failed"), "\(other)")
    }
  }

  @Test func `a request that runs or has ended asks for no hosts`() async {
    let world = World { $0.explanation = Explanation(record: .running, verdict: .running, lines: []) }
    let run = await world.baton("explain", "com.example.photos.export.42")
    #expect(run.status == 0)
    #expect(run.output == "com.example.photos.export.42, request 3: running on alpha, launch 2\n")
    #expect(world.coordinator.calls == ["explain com.example.photos.export.42"])
  }

  @Test(arguments: [
    (Explanation.Verdict.running, RequestRecord.running, Int32(0)), (.ended, .succeeded, 0), (.ended, .failed, 1),
    (.ended, .cancelled, 1), (.waiting, .ready, 2), (.waiting, .scheduled, 2), (.impossible, .ready, 4),
  ])
  func `explain says by its status how things are`(
    verdict: Explanation.Verdict, record: RequestRecord, status: Int32
  ) async {
    let world = World { $0.explanation = Explanation(record: record, verdict: verdict, lines: []) }
    let run = await world.baton("explain", record.identifier.rawValue)
    #expect(run.status == status)
    #expect(run.error.isEmpty)
    #expect(run.output.hasPrefix("\(record.identifier), request"))
  }

  @Test func `no such request is 3`() async {
    let error = OperatorError.notFound("there is no job 'com.example.nws', did you mean 'com.example.news'?")
    let run = await World { $0.errors = [error] }.baton("explain", "com.example.nws")
    #expect(run.status == 3)
    #expect(run.error == "error: \(error)\n")
  }

  @Test(.contract(8.1)) func `a list has an obstacle of a host that is there rather than of one that is gone`() async {
    let world = World([.ready]) {
      $0.explanation.lines = [
        Explanation.line("alpha", .hostGone), Explanation.line("alpha", .lowPowerMode),
        Explanation.line("beta", .hostDraining),
      ]
    }
    let run = await world.baton("list", "--state", "pending")
    #expect(run.output.contains("beta: the host is draining"))
    #expect(!run.output.contains("alpha"))
  }
}
