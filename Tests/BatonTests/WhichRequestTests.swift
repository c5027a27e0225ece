import BatonJSON
import BatonModel
import BatonStore
import BatonTelemetry
import Foundation
import Testing

@testable import BatonCommands
@testable import BatonCoordinator

/// Which request of an identifier a command takes, and what it says about skipped batches.
@Suite struct WhichRequestTests {
  private static let name = "com.example.report"

  /// Request 4 ran and succeeded, request 5 is scheduled.
  private static let world = World([succeeded]) { state in
    var details = RequestDetails(record: succeeded, launches: [], events: [])
    details.waiting = scheduled
    details.earlierOutput = 3
    state.details = [details]
    state.trace = RequestTrace(spans: [], open: [], asOf: now)
  }

  private static let succeeded = RequestRecord.example(4, name, number: 4, .succeeded) { record in
    (record.launches, record.endedAt) = (1, now)
  }

  private static let scheduled = RequestRecord.example(5, name, number: 5, .scheduled) { record in
    (record.eligibleAt, record.waitsBecause) = (now + .seconds(3300), .notBefore(now + .seconds(3300)))
  }

  private static let told =
    "com.example.report, request 4, succeeded; request 5 is scheduled: its earliest begin date has not come; "
    + "eligible 2026-03-01T07:25:00Z (in 55m) (--request 5)\n"

  @Test(arguments: [("logs", "ran"), ("trace", "ran"), ("show", "ranIfRepeating"), ("wait", "ranIfRepeating")])
  func `a command asks for the request that ran`(command: String, choice: String) async {
    let run = await Self.world.baton(command, Self.name)
    #expect(Self.world.coordinator.calls.contains("details \(Self.name) choosing \(choice)"))
    if command == "show" {
      #expect(run.output.contains("\n  Next        request 5, scheduled: "))
    } else {
      #expect(run.error.hasPrefix(Self.told), "\(run.error)")
    }
  }

  @Test(arguments: ["logs", "trace", "show", "wait"])
  func `a request number selects that request`(command: String) async {
    let world = World([Self.succeeded, Self.scheduled]) { $0.trace = RequestTrace(spans: [], open: [], asOf: now) }
    let run = await world.baton(command, Self.name, "--request", "4")
    let first = world.coordinator.calls.first ?? ""
    #expect(first.hasPrefix("details \(Self.name) 4") || first == "trace \(Self.name) 4")
    #expect(!run.error.contains("request 5"))
  }

  @Test func `logs of a request that wrote nothing name an earlier one that did`() async {
    let run = await Self.world.baton("logs", Self.name)
    #expect(
      run.error.hasSuffix(
        "com.example.report, request 4 has written nothing; request 3 has: baton logs com.example.report --request 3\n")
    )
  }

  @Test func `show as JSON has the next request`() async throws {
    let run = await Self.world.baton("show", Self.name, "-o", "json")
    let json = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
    let next = try #require(json["next"] as? [String: Any])
    #expect(next["request"] as? Int == 5)
    #expect(next["eligibleAt"] as? String == "2026-03-01T07:25:00.250Z")
  }

  private static func skipped(_ state: RequestState) -> RequestRecord {
    .example(1, name, state) { record in
      record.launches = 2
      (record.startedAt, record.host) = (now + .seconds(-60), HostName("alpha"))
      record.progress = Progress(batches: 6, completedUnits: 6, totalUnits: 6)
      (record.skippedBatches, record.skippedUnits) = ([3], 1)
      if state.isEnded { record.endedAt = now }
    }
  }

  @Test func `a skipped batch is not done, and is named in list, show, wait and JSON`() async throws {
    let world = World([Self.skipped(.succeeded)])
    let list = await world.baton("list", "--all")
    #expect(list.output.contains(" 5/6 83% ") && list.output.contains("batch 3 skipped"), "\(list.output)")
    let show = await world.baton("show", Self.name)
    #expect(show.output.contains("State       succeeded after 1m, batch 3 skipped\n"), "\(show.output)")
    #expect(show.output.contains("Progress    5 of 6 done (83 %), 5 batches, batch 3 skipped\n"))
    let wait = await world.baton("wait", Self.name)
    #expect(wait.error.contains("succeeded after 1m, batch 3 skipped"))
    let json = await world.baton("list", "--all", "-o", "jsonl").output
    #expect(
      json.contains(
        #""batches":5,"completedUnits":5,"totalUnits":6,"skippedBatches":[3],"skippedShards":[],"skippedUnits":1"#),
      "\(json)")
    let failed = await World([Self.skipped(.failed)]).baton("list", "--all")
    #expect(failed.output.contains(" 5/6 83% ") && failed.output.contains("batch 3 skipped"))
    let running = await World([Self.skipped(.running)]).baton("list", "--all")
    #expect(running.output.contains(" 5/6 83% ") && running.output.contains("batch 3 skipped"))
  }

  @Test func `a skipped batch of a divided request is named with its shard in list, show, wait and JSON`() async throws
  {
    var record = Self.skipped(.succeeded)
    (record.shards, record.skippedShards) = (ShardSummary(lanes: 2, total: 4, succeeded: 4), [2])
    let world = World([record])
    let said = "batch 3 of shard 2 skipped"
    #expect(await world.baton("list", "--all").output.contains(said))
    #expect(await world.baton("show", Self.name).output.contains("5 batches, \(said)\n"))
    #expect(await world.baton("wait", Self.name).error.contains(said))
    let json = await world.baton("list", "--all", "-o", "jsonl").output
    #expect(json.contains(#""skippedBatches":[3],"skippedShards":[2],"skippedUnits":1"#), "\(json)")
  }

  @Test func `a request on a host that is away says since when, and until when the lease lasts`() async throws {
    var record = Self.skipped(.running)
    record.hostAway = HostAway(since: now + .seconds(-90), leaseUntil: now + .seconds(30))
    let world = World([record])
    let said = "its host is away since 06:28:30 UTC (1m 30s ago), its lease lasts until 06:30:30 UTC (in 30s)"
    #expect(await world.baton("list").output.contains(said))
    #expect(await world.baton("show", Self.name).output.contains("running on alpha, launch 2; \(said)\n"))
    let json = await world.baton("list", "-o", "jsonl").output
    #expect(
      json.contains(#""hostAway":{"since":"2026-03-01T06:28:30.250Z","leaseUntil":"2026-03-01T06:30:30.250Z"}"#),
      "\(json)")
  }

  @Test func `a pipe is told when the host of a request goes away, and when it is back`() {
    var lines = ProgressLines()
    var record = Self.skipped(.running)
    _ = lines.line(for: record, at: now)
    record.hostAway = HostAway(since: now, leaseUntil: now + .seconds(30))
    #expect(lines.line(for: record, at: now)?.contains("its host is away since") == true)
    #expect(lines.line(for: record, at: now) == nil)
    record.hostAway = nil
    #expect(lines.line(for: record, at: now)?.contains("running on alpha, launch 2") == true)
  }

  /// A request with a failed first launch, whose reason has two lines, and a second one.
  private static func failedOnce(_ state: RequestState, _ second: LaunchRecord?) -> RequestDetails {
    var record = skipped(state)
    (record.skippedBatches, record.reason) = ([], state == .failed ? "Traceback:\nno such album" : nil)
    let first = LaunchRecord(
      launch: LaunchKey(request: record.id, number: 1), host: HostName("alpha"), startedAt: now + .seconds(-600),
      endedAt: now + .seconds(-300), outcome: .failed, reason: "Traceback:\nno such album", isGraceful: true,
      firstBatch: 0, batches: 0, spanID: SpanID(1))
    return RequestDetails(record: record, launches: [first] + [second].compactMap { $0 }, events: [])
  }

  private static func second(_ outcome: LaunchOutcome.Kind?, batches: Int) -> LaunchRecord {
    LaunchRecord(
      launch: LaunchKey(request: RequestID(1), number: 2), host: HostName("alpha"), startedAt: now + .seconds(-60),
      endedAt: outcome == nil ? nil : now, outcome: outcome, isGraceful: true, firstBatch: 0, batches: batches,
      spanID: SpanID(2))
  }

  @Test func `a failure is told until the request has gone on past it, and dated while it may still come again`() async
  {
    let cases: [(RequestDetails, String?)] = [
      (Self.failedOnce(.failed, nil), "  Failure\n    Traceback:"),
      (
        Self.failedOnce(.scheduled, nil),
        "  Earlier failure: launch 1, 2026-03-01T06:25:00Z (5m ago)\n    Traceback:"
      ),
      (Self.failedOnce(.running, Self.second(nil, batches: 0)), "  Earlier failure: launch 1, "),
      (Self.failedOnce(.running, Self.second(nil, batches: 1)), nil),
      (Self.failedOnce(.succeeded, Self.second(.finished, batches: 0)), nil),
      (Self.failedOnce(.cancelled, nil), nil),
    ]
    for (details, title) in cases {
      let output = await World { $0.details = [details] }.baton("show", Self.name).output
      if let title {
        #expect(output.contains(title), "\(output)")
      } else {
        #expect(!output.lowercased().contains("  failure") && !output.contains("Earlier failure"), "\(output)")
      }
    }
  }

  @Test func `a failed request names the items of the batch at which it stands`() async throws {
    let items = BatchItems(
      batch: 3, range: 30..<45, total: 247, items: (31...40).map { "IMG_\($0).jpg" }, last: "IMG_45.jpg")
    let world = World([Self.skipped(.failed)]) { $0.batches = BatchList([items]) }
    let show = await world.baton("show", Self.name)
    #expect(
      show.output.contains("Failed at   batch 3: items 31 to 45 of 247, IMG_31.jpg … IMG_45.jpg\n"), "\(show.output)")
    let json = await world.baton("show", Self.name, "-o", "json").output
    #expect(json.contains(#""lastItem": "IMG_45.jpg""#))
    let batch = await world.baton("show", Self.name, "--batch", "3")
    #expect(batch.output.hasPrefix("\(Self.name), request 1, batch 3: items 31 to 45 of 247\n  IMG_31.jpg\n"))
    #expect(batch.output.hasSuffix("  IMG_40.jpg\n  … 4 more\n  IMG_45.jpg\n"), "\(batch.output)")
    #expect(world.coordinator.calls.contains("batches of \(Self.name) batch 3"))
    let none = await World([Self.skipped(.failed)]).baton("show", Self.name)
    #expect(none.status == 0 && !none.output.contains("Failed at"))
    for arguments in [["--shard", "1"], ["--batch", "0", "--shards"], ["--batch", "0", "--definition"]] {
      #expect(await world.baton(["show", Self.name] + arguments).status == 64)
    }
  }

  @Test func `many skipped batches are counted`() {
    var record = Self.skipped(.succeeded)
    record.skippedBatches = Array(0..<8)
    #expect(record.skippedText == "batches 0, 1, 2, 3, 4 and 3 more skipped")
  }

  @Test func `a failure of many lines is its last line in tables, and whole once in show`() async {
    let reason = """
      './report.py' in /srv on alpha (batch 3 of com.example.report, request 1) ended with status 1; its last output was:
      Traceback (most recent call last):
        File "report.py", line 3, in <module>
      ValueError: no such \u{1B}[31malbum
      """
    let failed = RequestRecord.example(1, Self.name, .failed) { record in
      (record.launches, record.endedAt, record.reason) = (1, now, reason)
    }
    let world = World([failed]) { state in
      state.details = [
        RequestDetails(
          record: failed,
          launches: [
            LaunchRecord(
              launch: LaunchKey(request: RequestID(1), number: 1), host: HostName("alpha"), startedAt: now,
              endedAt: now, outcome: .failed, reason: reason, isGraceful: true, firstBatch: 0, batches: 3,
              spanID: SpanID(1))
          ], events: [])
      ]
    }
    let show = await world.baton("show", Self.name).output
    let safe = "ValueError: no such \\u{1b}[31malbum"
    #expect(show.contains("  State       failed: \(safe)\n"), "\(show)")
    #expect(
      show.contains(
        """

          Failure
            './report.py' in /srv on alpha (batch 3 of com.example.report, request 1) ended with status 1; \
        its last output was:
            Traceback (most recent call last):
              File "report.py", line 3, in <module>
            \(safe)

        """), "\(show)")
    #expect(show.split(separator: "Traceback").count == 2, "the block is shown once")
    let list = await world.baton("list", "--all").output
    #expect(list.contains(safe) && !list.contains("Traceback"))
    let wait = await world.baton("wait", Self.name).error
    #expect(wait.contains("failed: \(safe)\n") && !wait.contains("Traceback"))
  }
}
