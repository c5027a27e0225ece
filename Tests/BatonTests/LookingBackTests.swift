import BatonModel
import BatonStore
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator

/// What operators see of large fleets and of the past, and what they forget.
@Suite struct LookingBackTests {
  private static let pattern = IdentifierPattern(trusted: "com.example.report")
  private static let report = JobIdentifier(trusted: "com.example.report")

  private static func version(_ number: Int, by: String, _ change: (inout Definition) -> Void) -> DefinitionVersion {
    var definition = Definition(pattern: pattern, kind: .processing)
    definition.title = "Report"
    change(&definition)
    return DefinitionVersion(
      number: number, id: DefinitionID(Int64(number)), definition: definition,
      appliedAt: now + .seconds(-100 * (4 - number)), appliedBy: by)
  }

  private static var versions: [DefinitionVersion] {
    [
      version(3, by: "ana") { ($0.budget, $0.retention) = (.seconds(1200), .seconds(604_800)) },
      version(2, by: "ben") { $0.budget = .seconds(1200) }, version(1, by: "") { _ in },
    ]
  }

  private static var world: World {
    World { state in
      state.hosts = [.alpha, .beta]
      state.versions = versions
      state.reports = [
        DefinitionReport(
          definition: versions[0].definition, appliedAt: now, counts: [.ready: 2], usualBatch: .milliseconds(1500))
      ]
      state.history = HostHistory(
        conditions: [
          ConditionChange(
            number: 4, at: now + .seconds(-60), condition: "power", value: "battery", source: "sysfs",
            raw: "AC online=0"),
          ConditionChange(number: 3, at: now + .seconds(-90), condition: "idle", value: nil, source: "logind"),
        ],
        launches: [
          HostLaunch(
            request: RequestID(9), identifier: report, number: 2, launch: 1, startedAt: now + .seconds(-30)),
          HostLaunch(
            request: RequestID(8), identifier: report, number: 1, shard: 3, launch: 2, startedAt: now + .seconds(-300),
            endedAt: now + .seconds(-61), outcome: .expired, reason: "powerLost"),
        ])
      state.queue = QueueReport(
        classes: [
          QueueReport.Class(
            pattern: pattern, priority: .userInitiated, hasRecentUse: true, ready: 2, oldest: now + .seconds(-90),
            obstacle: "slotsInUse", obstacleHosts: 2,
            next: [
              .init(request: RequestID(1), identifier: report, number: 4, readyAt: now + .seconds(-90)),
              .init(request: RequestID(2), identifier: report, number: 5, shard: 2),
            ]),
          QueueReport.Class(
            pattern: IdentifierPattern(trusted: "com.example.photos.*"), priority: .background, countsAs: .utility,
            ready: 10_001),
        ], moreClasses: 3)
      state.pruned = PruneAnswer(counts: [.succeeded: 10, .failed: 2], hasMore: true)
    }
  }

  @Test(arguments: [
    ("hosts-summary", ["hosts", "--summary"]), ("hosts-summary-json", ["hosts", "--summary", "-o", "json"]),
    ("hosts-pattern", ["hosts", "al*", "--state", "ready"]), ("hosts-none", ["hosts", "--condition", "hot"]),
    ("hosts-history", ["hosts", "alpha", "--history"]),
    ("hosts-history-json", ["hosts", "alpha", "--history", "--since", "2h", "-o", "json"]),
    ("host-forget", ["host", "forget", "alpha"]), ("queue", ["queue"]), ("queue-json", ["queue", "-o", "json"]),
    ("prune-dry-run", ["prune", "com.example.*", "--dry-run"]),
    ("prune", ["prune", "--older-than", "7d", "--state", "failed", "--yes"]),
    ("prune-json", ["prune", "com.example.report", "--yes", "-o", "json"]),
    ("prune-unconfirmed", ["prune", "com.example.report"]), ("prune-everything", ["prune"]),
    ("definitions-versions", ["definitions", "com.example.report", "--versions"]),
    ("definitions-versions-json", ["definitions", "com.example.report", "--versions", "-o", "json"]),
    ("revert", ["revert", "com.example.report", "--to", "1"]),
    ("revert-dry-run", ["revert", "com.example.report", "--to", "1", "--dry-run"]),
    ("revert-missing", ["revert", "com.example.report", "--to", "9"]),
  ]) func `output is golden`(name: String, arguments: [String]) async throws {
    try Golden.expect(await Self.world.baton(arguments).transcript, is: name)
  }

  @Test func `a revert applies the version, and a rehearsal applies nothing`() async {
    let world = Self.world
    _ = await world.baton("revert", "com.example.report", "--to", "1", "--dry-run")
    #expect(!world.coordinator.calls.contains { $0.hasPrefix("apply") })
    let run = await world.baton("revert", "com.example.report", "--to", "1")
    #expect(run.status == 0)
    #expect(world.coordinator.state.withLock { $0.definitions } == [Self.versions[2].definition])
  }

  @Test func `nothing is deleted before the answer yes`() async {
    let world = Self.world
    _ = await world.baton("prune", "com.example.report")
    _ = await world.baton("prune", "com.example.report", "--dry-run")
    #expect(world.coordinator.calls.allSatisfy { $0.hasSuffix("true") })
    _ = await world.baton("prune", "com.example.report", "--yes")
    #expect(world.coordinator.calls.last?.hasSuffix("false") == true)
  }

  @Test(arguments: [["plan"], ["apply", "--dry-run"]])
  func `a plan with --prune tells which definitions no file has`(command: [String]) async throws {
    try await withTemporaryFolder { folder in
      try write("identifier: com.example.new\nkind: refresh\n", to: folder + "/job.yaml")
      let world = Self.world
      let run = await world.baton(command + [folder + "/job.yaml", "--prune", "com.example.*"])
      try Golden.expect(run.output, is: "plan-prune")
      #expect(run.status == 2)
      let apply = await world.baton("apply", folder + "/job.yaml", "--prune", "com.example.*")
      #expect(apply.output.contains("com.example.report: removed"))
      #expect(world.coordinator.calls.contains("remove com.example.report"))
      let other = await world.baton(command + [folder + "/job.yaml", "--prune", "org.*"])
      #expect(!other.output.contains("removed"))
    }
  }

  @Test func `show names the version, and the rate and the time that is left of a running launch`() async throws {
    let world = Self.world
    var record = RequestRecord.example(number: 1, .running)
    (record.progress.completedUnits, record.progress.totalUnits) = (40, 100)
    var curve = ProgressCurve()
    for step in 0...4 {
      curve.add(.init(at: now + .seconds(-40 + 10 * step), batches: step, units: Int64(10 * step)))
    }
    world.coordinator.state.withLock { [record, curve] state in
      var details = RequestDetails(record: record, launches: [], events: [])
      (details.version, details.curve) = (VersionNumber(number: 2, newest: 3), curve)
      state.details = [details]
    }
    let run = await world.baton("show", "com.example.report")
    #expect(run.output.contains("com.example.report, version 2 of 3"))
    #expect(run.output.contains("1.0/s, about 1m left"))
    let json = await world.baton("show", "com.example.report", "-o", "json").output
    #expect(json.contains("\"version\": 2") && json.contains("\"unitsPerMinute\": 60"))
    #expect(json.contains("\"secondsLeft\": 60"))
  }

  @Test func `an explanation of a large fleet is told by groups, whose names are capped`() async throws {
    let names = (0..<5000).map { HostName("host-\($0)") }
    var examined = ExaminedHosts()
    let inUse = Obstacle.slotsInUse(needed: 1, free: 0)
    for name in names {
      examined.add(
        name, .assumed, lastSeenAt: nil, isRevoked: false, name.rawValue.hasSuffix("7") ? [inUse] : [inUse, .hostGone])
    }
    let groups = examined.grouping.groups
    #expect(groups.groups.map(\.count) == [500, 4500])
    #expect(groups.groups.allSatisfy { $0.names.count == ExplainedGroups.mostNames })
    #expect(
      groups.rows == [
        .init(code: "slotsInUse", hosts: 5000, alone: 500), .init(code: "hostGone", hosts: 4500, alone: 0),
      ])
    let world = World { state in
      state.requests = [.example(number: 1, .ready)]
      state.explanation.groups = groups
    }
    let run = await world.baton("explain", "com.example.report")
    #expect(run.output.contains("4500 hosts: host-0, host-1, host-10 and 4497 more"))
  }
}
