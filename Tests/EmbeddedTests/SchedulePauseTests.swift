import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator

/// Schedules that are paused, and backfills, on a coordinator and workers whose clocks stand still until a test moves
/// them.
@Suite("Pausing and backfilling schedules", .timeLimit(.minutes(10)))
struct SchedulePauseTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  private static let name = JobIdentifier("com.example.hourly")!
  private static let pattern = IdentifierPattern(name)

  private static func job(_ missed: MissedRuns = .once) throws -> Definition {
    var definition = Definition(pattern: pattern, kind: .processing)
    definition.requirements.requiresIdle = false
    definition.schedule = JobSchedule(cron: try CronExpression("0 * * * *"), missed: missed)
    return definition
  }

  /// The first time of the schedule after this one.
  private static func hour(after time: Timestamp) -> Timestamp {
    Timestamp(nanoseconds: (time.nanoseconds / 3_600_000_000_000 + 1) * 3_600_000_000_000)
  }

  /// Lets time pass until the request with this number has succeeded. By then the next one waits.
  private static func pass(_ time: ManualTime, in fleet: Fleet, untilSuccessOf number: Int) async throws {
    while try await fleet.coordinator.details(name, number: number).record.state != .succeeded {
      await time.pass(.milliseconds(100))
    }
  }

  @Test("A pause outlasts a restart, says who and why, and its end lets the missed time start")
  func pause() async throws {
    let time = ManualTime()
    let times = Mutex<[Timestamp?]>([])
    let handler: Handler = { task in times.withLock { $0.append(task.scheduledTime) } }
    let store = try SQLiteStore.inMemory()
    let first = Fleet(store, time)
    try await first.run([first.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await first.coordinator.apply([try Self.job()])
      let paused = try await first.coordinator.setSchedules(
        IdentifierPattern("com.example.*")!, .pause(reason: "the disk is full"), by: "ana")
      #expect(paused.map(\.identifier) == [Self.name] && paused.first?.pause.by == "ana")
      await time.jump(.seconds(2 * 3600))
      try await first.submit(Self.name.rawValue)
      try await Self.pass(time, in: first, untilSuccessOf: 1)
    }
    #expect(times.withLock { $0 } == [nil], "only what a person asked for")
    let second = Fleet(store, time)
    try await second.run([second.worker("two", folder: folder, [(Self.name.rawValue, handler)])]) {
      await time.jump(.seconds(3600))
      let explained = try await second.coordinator.explain(Self.name, number: 2)
      #expect(explained.lines.first?.code == "schedulePaused")
      #expect(explained.lines.first?.text.hasSuffix("by ana: the disk is full") == true)
      let report = try #require(try await second.coordinator.definitions(named: [Self.pattern]).first)
      #expect(report.standing.pause == SchedulePause(by: "ana", since: ManualTime.start, reason: "the disk is full"))
      _ = try await second.coordinator.setSchedules(Self.pattern, .resume, by: "ana")
      try await Self.pass(time, in: second, untilSuccessOf: 2)
      await #expect(throws: OperatorError.self) {
        _ = try await second.coordinator.setSchedules(Self.pattern, .resume, by: "ana")
      }
    }
    let told = times.withLock { $0 }
    #expect(told.count == 2 && told.last.flatMap { $0 } != nil, "the request of the calendar knows its time")
  }

  @Test("A backfill runs each time once, the earliest first, and each request knows its time")
  func backfill() async throws {
    let time = ManualTime()
    let times = Mutex<[Timestamp?]>([])
    let handler: Handler = { task in times.withLock { $0.append(task.scheduledTime) } }
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await fleet.coordinator.apply([try Self.job()])
      let begin = ManualTime.start + .seconds(-4 * 3600)
      let order = BackfillOrder(identifier: Self.name, from: begin, until: ManualTime.start + .seconds(86_400))
      let plan = try await fleet.coordinator.backfill(order, by: "ana", isRehearsal: true)
      #expect(plan.count == 4 && plan.first == Self.hour(after: begin))
      #expect(times.withLock { $0 } == [], "a rehearsal begins nothing")
      #expect(try await fleet.coordinator.backfill(order, by: "ana", isRehearsal: false) == plan)
      while times.withLock({ $0.count }) < plan.count { await time.pass(.milliseconds(100)) }
      while try await fleet.coordinator.definitions(named: []).first?.standing.backfill != nil { await Task.yield() }
      let waiting = try await fleet.coordinator.details(Self.name, number: plan.count + 1).record
      #expect(waiting.scheduledAt == Self.hour(after: ManualTime.start) && !waiting.isBackfill)
    }
    let first = Self.hour(after: ManualTime.start + .seconds(-4 * 3600))
    #expect(times.withLock { $0 } == (0..<4).map { first + .seconds($0 * 3600) })
  }

  @Test("What cannot be paused or backfilled is refused, with what to do")
  func refusals() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([]) {
      var plain = Definition(pattern: IdentifierPattern("com.example.plain")!, kind: .processing)
      plain.requirements.requiresIdle = false
      _ = try await fleet.coordinator.apply([try Self.job(), plain])
      let coordinator = fleet.coordinator
      func refusal(_ body: () async throws -> Void) async -> String {
        do { try await body() } catch { return "\(error)" }
        return "nothing was refused"
      }
      let now = ManualTime.start
      func range(_ name: JobIdentifier, _ hours: Int64) -> BackfillOrder {
        BackfillOrder(identifier: name, from: now + .seconds(-3600 * hours), until: now)
      }
      let long = String(repeating: "a", count: 501)
      let found = [
        await refusal { _ = try await coordinator.setSchedules(plain.pattern, .pause(reason: "x"), by: "ana") },
        await refusal {
          _ = try await coordinator.setSchedules(IdentifierPattern("com.other")!, .pause(reason: "x"), by: "ana")
        },
        await refusal { _ = try await coordinator.setSchedules(Self.pattern, .pause(reason: " "), by: "ana") },
        await refusal { _ = try await coordinator.setSchedules(Self.pattern, .pause(reason: long), by: "ana") },
        await refusal { _ = try await coordinator.setSchedules(Self.pattern, .resume, by: "ana") },
        await refusal {
          _ = try await coordinator.backfill(range(Self.name, 20_000), by: "ana", isRehearsal: false)
        },
        await refusal { _ = try await coordinator.backfill(range(Self.name, 0), by: "ana", isRehearsal: false) },
        await refusal {
          _ = try await coordinator.backfill(
            range(JobIdentifier("com.example.plain")!, 9), by: "ana", isRehearsal: false)
        },
        await refusal { _ = try await coordinator.stopBackfill(of: Self.name) },
      ]
      let wanted = [
        "neither 'schedule' nor 'repeat'", "there is no job 'com.other'", "needs a reason", "at most 500 bytes",
        "is paused; look at", "more than 10000 times", "the range of the backfill is empty", "has no 'schedule'",
        "no backfill of",
      ]
      for (text, part) in zip(found, wanted) { #expect(text.contains(part), "\(text)") }
      #expect(try await coordinator.definitions(named: []).allSatisfy { $0.standing.isUsual })
    }
  }
}
