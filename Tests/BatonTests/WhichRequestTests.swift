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
      json.contains(#""batches":5,"completedUnits":5,"totalUnits":6,"skippedBatches":[3],"skippedUnits":1"#), "\(json)")
    let failed = await World([Self.skipped(.failed)]).baton("list", "--all")
    #expect(failed.output.contains(" 5/6 83% ") && failed.output.contains("batch 3 skipped"))
    let running = await World([Self.skipped(.running)]).baton("list", "--all")
    #expect(running.output.contains(" 5/6 83% ") && running.output.contains("batch 3 skipped"))
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
