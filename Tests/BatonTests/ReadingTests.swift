import BatonBase
import BatonCommands
import BatonCoordinator
import BatonModel
import BatonStore
import ContractRows
import Foundation
import Synchronization
import Testing

/// Commands that only read: their tables, their JSON, and the filters that they send.
@Suite struct ReadingTests {
  private static let everything = World(RequestRecord.all) { state in
    state.details = [.example]
    state.hosts = [.alpha, .beta]
    state.coordinators = CoordinatorReport.examples
    state.namespaces = .example
    state.standing = FleetStanding(
      isPaused: true, problem: "the store does not answer: look at the log",
      evictions: [.init(host: HostName("beta"), pattern: IdentifierPattern(trusted: "com.example.photos.*"))])
  }

  @Test func `coordinators with different namespaces are told apart, and a fleet without namespaces says so`() async {
    let run = await World([]) { state in
      state.coordinators = CoordinatorReport.examples
      for index in state.coordinators.indices { state.coordinators[index].namespaces = index == 1 ? "0123" : nil }
      state.namespaces = NamespaceReports([NamespaceReport(Namespace(""))])
    }.baton("coordinators")
    #expect(run.error.contains("the coordinators have different lists of namespaces"), "\(run.error)")
    #expect(await World([]).baton("namespaces").error.contains("the fleet has no namespaces"))
  }

  @Test func `a definition that no host can ever run needs a person while requests of it are ready`() async throws {
    let definition = Definition(pattern: IdentifierPattern(trusted: "com.example.gpu"), kind: .continued)
    let run = await World([.running]) { state in
      state.hosts = [.alpha]
      state.able = AbleHosts.Count(now: 0, ever: 0)
      state.reports = [DefinitionReport(definition: definition, appliedAt: now, counts: [.ready: 2])]
    }.baton("status")
    #expect(
      run.output.hasSuffix(
        "no host can run com.example.gpu, of which 2 requests wait: baton explain com.example.gpu\n"),
      "\(run.output) \(run.error)")
  }

  @Test func `requests that keep an earlier definition that no host can ever run need a person`() async throws {
    let definition = Definition(pattern: IdentifierPattern(trusted: "com.example.gpu"), kind: .continued)
    let kept = QueueReport.Class(
      pattern: definition.pattern, priority: .utility, ready: 2,
      next: [.init(request: RequestID(1), identifier: JobIdentifier("com.example.gpu")!, number: 7)], keepsEarlier: true
    )
    let world = World([.running]) { state in
      state.hosts = [.alpha]
      state.able = AbleHosts.Count(now: 0, ever: 0)
      state.queue = QueueReport(classes: [kept])
      state.reports = [DefinitionReport(definition: definition, appliedAt: now, counts: [.ready: 2])]
    }
    let run = await world.baton("status")
    #expect(
      run.output.hasSuffix(
        "no host can run an earlier definition of com.example.gpu, under which 2 requests wait: baton apply FILE "
          + "--refreeze gives them the new one\n"), "\(run.output) \(run.error)")
    world.coordinator.state.withLock { $0.able = AbleHosts.Count(now: 0, ever: 1) }
    #expect(await world.baton("status").output.hasSuffix("\n\nnothing needs a person\n"))
  }

  @Test func `a fleet whose hosts are all drained needs a person while requests wait`() async throws {
    let definition = Definition(pattern: IdentifierPattern(trusted: "com.example.a"), kind: .continued)
    let run = await World([.running]) { state in
      var host = HostReport.alpha
      host.state = .draining
      state.hosts = [host]
      state.reports = [DefinitionReport(definition: definition, appliedAt: now, counts: [.ready: 1])]
    }.baton("status")
    #expect(
      run.output.hasSuffix(
        "no host takes work, because 1 host is draining, and 1 request waits: baton undrain HOST\n"),
      "\(run.output) \(run.error)")
  }

  @Test func `a fleet that needs no person says so`() async {
    let run = await World([.running]) { $0.hosts = [.alpha] }.baton("status")
    #expect(run.output.hasSuffix("\n\nnothing needs a person\n"), "\(run.output) \(run.error)")
  }

  @Test(
    arguments: [
      ("list", ["list"]), ("list-json", ["list", "-o", "json"]), ("list-jsonl", ["list", "-o", "jsonl"]),
      ("list-pending", ["list", "--state", "pending"]),
      ("list-pending-json", ["list", "--state", "pending", "-o", "json"]),
      ("list-host", ["list", "--host", "beta", "--state", "ended"]),
      ("list-pattern", ["list", "com.example.photos.*"]),
      ("list-limit", ["list", "--limit", "2"]), ("list-all", ["list", "--all"]),
      ("list-by", ["list", "--all", "--kind", "processing", "--by", "ana"]),
      ("list-oldest", ["list", "--all", "--sort", "oldest"]), ("list-last", ["list", "--last", "3"]),
      ("status", ["status"]), ("status-json", ["status", "-o", "json"]),
      ("show", ["show", "com.example.photos.export.42"]),
      ("show-json", ["show", "com.example.photos.export.42", "-o", "json"]),
      ("show-failed", ["show", "com.example.broken"]),
      ("hosts", ["hosts"]), ("hosts-json", ["hosts", "-o", "json"]), ("host", ["hosts", "beta"]),
      ("host-assumed", ["hosts", "alpha"]),
      ("coordinators", ["coordinators"]), ("coordinators-json", ["coordinators", "-o", "json"]),
      ("namespaces", ["namespaces"]), ("namespaces-json", ["namespaces", "-o", "json"]),
      ("namespaces-jsonl", ["namespaces", "-o", "jsonl"]),
      ("explain", ["explain", "com.example.gpu"]), ("explain-json", ["explain", "com.example.gpu", "-o", "json"]),
    ])
  func `output is golden`(name: String, arguments: [String]) async throws {
    let run = await Self.everything.baton(arguments)
    try Golden.expect(run.transcript, is: name)
  }

  @Test func `a table on a terminal has colour and no line that wraps`() async throws {
    var world = Self.everything
    world.terminal = .init(columns: 72, rows: 24)
    for arguments in [["list"], ["hosts"], ["explain", "com.example.gpu"]] {
      let run = await world.baton(arguments)
      let plain = run.output.replacing(/\u{1B}\[[0-9]+m/, with: "")
      #expect(plain != run.output)
      let rows = plain.split(separator: "\n").drop { arguments[0] == "explain" && !$0.hasPrefix("HOST") }
      #expect(rows.allSatisfy { $0.count <= 72 })
    }
    try Golden.expect(await world.baton("list").transcript, is: "list-terminal")
  }

  @Test(arguments: [40, 60, 80]) func `show and hosts break no word on a narrow terminal`(columns: Int) async {
    let reason = "the sidecar could not be written because the folder of the album is not there any more"
    var details = RequestDetails.example
    (details.record.state, details.record.reason) = (.failed, reason)
    var world = World { state in
      state.details = [details]
      state.hosts = [.alpha, .beta]
    }
    #expect(await world.baton("show", details.record.identifier.rawValue).output.contains(reason), "a pipe")
    world.terminal = .init(columns: columns, rows: 24)
    for arguments in [["show", details.record.identifier.rawValue], ["hosts", "beta"]] {
      let text = await world.baton(arguments).output.replacing(/\u{1B}\[[0-9]+m/, with: "")
      #expect(text.split(separator: "\n").drop { !$0.hasPrefix("LAUNCH") }.allSatisfy { $0.count <= columns })
      let facts = text.split(separator: "\n").prefix { !$0.hasPrefix("LAUNCH") && !$0.hasPrefix("CONDITION") }
      let values = facts.map { line in
        line.count <= columns ? "" : (line.split(separator: "  ").last ?? "").drop { $0 == " " }
      }
      #expect(values.allSatisfy { !$0.contains(" ") }, "\(facts)")
      let words = facts.joined(separator: " ").split(separator: " ").joined(separator: " ")
      if arguments[0] == "show" { #expect(words.contains(reason)) }
    }
  }

  @Test(arguments: [40, 60, 80]) func `the lines of a failure are broken between words on a narrow terminal`(
    columns: Int
  ) async {
    let first =
      "the command ended with status 3 on anna (batch 2 of com.example.album, items 4 to 6); its last output was:"
    var details = RequestDetails.example
    (details.record.state, details.record.reason) = (.failed, first + "\n  cannot read the file")
    var world = World { $0.details = [details] }
    world.terminal = .init(columns: columns, rows: 24)
    let text = await world.baton("show", details.record.identifier.rawValue).output.replacing(
      /\u{1B}\[[0-9]+m/, with: "")
    let lines = text.split(separator: "\n").drop { $0 != "  Failure" }.prefix { $0.hasPrefix("  ") }
    #expect(lines.allSatisfy { $0.count <= columns })
    #expect(lines.dropFirst().map { $0.drop { $0 == " " } }.joined(separator: " ") == first + " cannot read the file")
  }

  @Test func `NO_COLOR holds on a terminal`() async {
    var world = Self.everything
    world.terminal = .init(columns: 200, rows: 24)
    world.variables["NO_COLOR"] = "1"
    let run = await world.baton("list")
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test(arguments: [["list"], ["hosts"], ["show", "com.example.photos.export.42"], ["explain", "com.example.gpu"]])
  func `JSON is JSON, and its lines too`(arguments: [String]) async throws {
    let run = await Self.everything.baton(arguments + ["-o", "json"])
    _ = try JSONSerialization.jsonObject(with: Data(run.output.utf8))
    let lines = await Self.everything.baton(arguments + ["-o", "jsonl"])
    for line in lines.output.split(separator: "\n") {
      #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
    }
  }

  @Test func `every key of a request is there, null where nothing is known`() async throws {
    let run = await Self.everything.baton("show", "com.example.photos.export.42", "-o", "json")
    let request = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
    let keys = [
      "identifier", "request", "kind", "state", "launches", "completedUnits", "totalUnits", "host", "outcome", "reason",
      "traceId",
    ]
    #expect(keys.allSatisfy { request[$0] != nil })
    let launches = try #require(request["launchHistory"] as? [[String: Any]])
    let launchKeys = [
      "number", "host", "startedAt", "endedAt", "outcome", "reason", "graceful", "batches", "firstBatch", "spanId",
    ]
    #expect(launches.count == 3)
    #expect(launches.allSatisfy { launch in launchKeys.allSatisfy { launch[$0] != nil } })
    #expect(request["outcome"] is NSNull)
  }

  @Test(arguments: [
    ["list"], ["show", "com.example.news"], ["show", "com.example.photos.export.42"],
    ["show", "com.example.sums", "--shards"], ["hosts"], ["evict", "a"], ["explain", "com.example.gpu"],
    ["submit", "a"], ["poke", "a"], ["cancel", "a"], ["simulate", "launch", "a"],
    ["simulate", "expire", "a"], ["simulate", "transfer", "42/0", "--fail"], ["simulate", "conditions", "a", "--end"],
  ])
  func `every key of the JSON is documented`(arguments: [String]) async throws {
    let world = World(RequestRecord.all) { state in
      state.details = [.poked, .example, .divided]
      state.shards = ShardRecord.examples
      state.hosts = [.alpha, .beta]
      state.evicted = [HostName("alpha")]
      state.cancellations = [.ended(RequestID(1), JobIdentifier(trusted: "a"), number: 1)]
    }
    let page = try String(contentsOfFile: Golden.root + "/Documentation/reference/commands.md", encoding: .utf8)
    let answers = page.components(separatedBy: "# What `baton` answers")[1]
    let run = await world.baton(arguments + ["-o", "jsonl"])
    let keys = Set(run.output.matches(of: /"([A-Za-z]+)":/).map { String($0.output.1) })
    #expect(!keys.isEmpty)
    #expect(keys.filter { !answers.contains("`\($0)`") }.isEmpty)
  }

  @Test func `what keeps ready requests is asked once for each class, in every list`() async {
    let world = World([.ready, .running])
    let run = await world.baton("list")
    #expect(world.coordinator.calls.count { $0.hasPrefix("explain") } == 1, "\(world.coordinator.calls)")
    #expect(run.output.contains("alpha"), "\(run.output)")
  }

  @Test(arguments: ["table", "json", "jsonl"]) func `a list is read page by page`(format: String) async throws {
    let world = World((1...1201).map { .example(Int64($0), "com.example.many.n\($0)", .ready) })
    let run = await world.baton("list", "-o", format)
    #expect(
      world.coordinator.calls.filter { $0.hasPrefix("requests") } == [
        "requests after 0 limit 500", "requests after 702 limit 500", "requests after 202 limit 500",
      ])
    #expect(
      run.output.contains("com.example.many.n1\n") || run.output.contains("com.example.many.n1\"")
        || run.output.contains("com.example.many.n1 "))
    if format == "json" {
      let list = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [Any]
      #expect(list?.count == 1201)
    }
  }

  @Test func `an empty list is empty data`() async {
    let table = await World().baton("list")
    #expect(table.output.isEmpty)
    #expect(table.error == "no unfinished requests; --all lists those that have ended\n")
    #expect(await World().baton("list", "--all").error == "no requests\n")
    let json = await World().baton("list", "-o", "json")
    #expect(json.output == "[]\n")
    let lines = await World().baton("list", "-o", "jsonl")
    #expect(lines.output.isEmpty)
  }

  @Test func `a list since a time ends at the first request that is older`() async {
    let world = World((1...1201).map { .example(Int64($0), "com.example.many.n\($0)", .ready) }) { state in
      for index in state.requests.indices {
        state.requests[index].submittedAt = now + .seconds((Int64(index) - 1201) * 60)
      }
    }
    let run = await world.baton("list", "--since", "3m", "-o", "jsonl")
    #expect(run.output.split(separator: "\n").count == 3, "\(run.output) \(run.error)")
    #expect(world.coordinator.calls.filter { $0.hasPrefix("requests") } == ["requests after 0 limit 500"])
  }

  @Test func `a list of failures since a time goes by their ends`() async {
    let requests = (1...4).map { id in
      RequestRecord.example(Int64(id), "com.example.many.n\(id)", .failed) { record in
        // The one that was submitted first ended last.
        record.endedAt = now + .seconds(Int64(-id) * 3600)
      }
    }
    let run = await World(requests).baton("list", "--state", "failed", "--since", "150m", "-o", "jsonl")
    let names = run.output.split(separator: "\n").compactMap { $0.firstMatch(of: /many\.(n\d)/)?.output.1 }
    #expect(names == ["n1", "n2"], "\(run.output) \(run.error)")
  }

  @Test(arguments: [
    ["--last", "3", "--limit", "3"], ["--last", "3", "--sort", "oldest"], ["--since", "1h", "--sort", "oldest"],
    ["--all", "--state", "failed"], ["--since", "soon"], ["--sort", "name"],
  ])
  func `options of a list that contradict each other are usage errors`(options: [String]) async {
    let run = await World().baton(["list"] + options)
    #expect(run.status == 64, "\(run.error)")
  }

  @Test(.contract(8.1)) func `pending requests of one class are explained once`() async {
    let world = World((1...3).map { .example(Int64($0), "com.example.many.n\($0)", .ready) })
    _ = await world.baton("list", "--state", "pending")
    #expect(world.coordinator.calls == ["requests after 0 limit 500", "explain com.example.many.n3"])
  }

  @Test func `a hostile title cannot write to the terminal`() async {
    let record = RequestRecord.example(1, "com.example.evil", .running) { $0.title = "\u{1B}]0;owned\u{07}\nx" }
    let run = await World([record]).baton("list")
    #expect(run.output.contains("\\u{1b}]0;owned\\u{7} x"))
    #expect(!run.output.contains("\u{1B}"))
  }

  @Test(.contract(44.3), arguments: [false, true]) func `logs --follow asks for what comes`(follows: Bool) async {
    let world = World { $0.details = [.example] }
    _ = await world.baton(["logs", "com.example.photos.export.42"] + (follows ? ["--follow"] : []))
    #expect(world.coordinator.calls.last == "logs com.example.photos.export.42" + (follows ? " follow" : ""))
  }

  @Test func `the choice of lines goes to the coordinator`() async {
    let world = World { $0.details = [.example] }
    _ = await world.baton("logs", "com.example.photos.export.42", "-f", "--tail", "20", "--since", "10m")
    #expect(
      world.coordinator.calls.last
        == "logs com.example.photos.export.42 follow tail 20 since \((now + .seconds(-600)).utc)")
    let both = await world.baton("logs", "com.example.photos.export.42", "--shard", "1", "--all-shards")
    #expect(both.status == 64)
  }

  @Test func `logs write the time before each line, and the shard if all are printed`() async throws {
    let world = World {
      $0.details = [.example]
      $0.logPieces = [
        LogPiece(launch: 3, shard: 0, takenAt: now, bytes: Array("one\ntw".utf8)),
        LogPiece(launch: 3, shard: 0, takenAt: now + .seconds(5), bytes: Array("o\nthr".utf8)),
        LogPiece(launch: 3, shard: 2, bytes: Array("other\n".utf8)),
      ]
    }
    let run = await world.baton("logs", "com.example.photos.export.42", "--timestamps", "--all-shards")
    try Golden.expect(run.transcript, is: "logs-timestamps")
  }

  @Test func `logs that have nothing since a time say so`() async {
    let run = await World { $0.details = [.example] }.baton("logs", "com.example.photos.export.42", "--since", "1h")
    #expect(
      run.error == "com.example.photos.export.42, request 3 has written nothing since \((now + .seconds(-3600)).utc)\n")
  }

  @Test func `logs writes bytes as they are, and a header per launch elsewhere`() async throws {
    let world = World {
      $0.details = [.example]
      $0.output = [(1, "one\n"), (1, "two\n"), (3, "three")]
    }
    try Golden.expect(await world.baton("logs", "com.example.photos.export.42").transcript, is: "logs")
    let one = await world.baton("logs", "com.example.photos.export.42", "--launch", "3")
    #expect(one.output == "three")
    #expect(one.error.isEmpty)
    let none = await world.baton("logs", "com.example.photos.export.42", "--launch", "9")
    #expect(none.status == 3)
    #expect(none.error == "error: com.example.photos.export.42, request 3 has no launch 9: it had 3 launches\n")
  }
}
