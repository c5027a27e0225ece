import BatonCoordinator
import BatonModel
import BatonStore
import Testing

@testable import BatonCommands

/// `baton schedules` with its subcommands.
@Suite struct ScheduleCommandTests {
  private static func definition() throws -> Definition {
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.running"), kind: .processing)
    definition.schedule = JobSchedule(cron: try CronExpression("0 2 * * *"), timeZone: "Europe/Berlin")
    return definition
  }

  private static func world(_ change: (inout FakeCoordinator.State) -> Void = { _ in }) throws -> World {
    let definition = try definition()
    return World([.running]) { state in
      state.reports = [DefinitionReport(definition: definition, appliedAt: now)]
      change(&state)
    }
  }

  @Test func `the list says since when, by whom and why a schedule is paused, and how far a backfill has come`()
    async throws
  {
    let paused = try Self.world {
      $0.reports[0].standing.pause = SchedulePause(by: "ana", since: now + .seconds(-7200), reason: "the disk is full")
    }
    let told = await paused.baton("schedules")
    #expect(told.output.contains("paused 2h ago by ana: the disk is full"), "\(told.output)")
    let json = await paused.baton("schedules", "-o", "jsonl")
    #expect(json.output.contains(#""reason":"the disk is full""#) && json.output.contains(#""backfill":null"#))
    let going = try Self.world {
      $0.reports[0].standing.backfill = Backfill(
        by: "ana", startedAt: now, from: now, until: now, after: now, made: 12, total: 31)
    }
    let far = await going.baton("schedules", "list", "com.example.running")
    #expect(far.output.contains("backfill 12 of 31; not scheduled"), "\(far.output)")
  }

  @Test func `pausing and resuming name each schedule`() async throws {
    let name = JobIdentifier(trusted: "com.example.running")
    let world = try Self.world {
      $0.schedules = [
        ChangedSchedule(
          identifier: name, pause: SchedulePause(by: "ana", since: now + .seconds(-60), reason: "the disk is full"))
      ]
    }
    let paused = await world.baton("schedules", "pause", "com.example.*", "--reason", "the disk is full")
    #expect(paused.output == "com.example.running: paused\n", "\(paused.error)")
    #expect(world.coordinator.calls.last?.contains(#"pause(reason: "the disk is full")"#) == true)
    let resumed = await world.baton("schedules", "resume", "com.example.*")
    #expect(resumed.output == "com.example.running: goes on; it was paused 1m ago by ana: the disk is full\n")
    let json = await world.baton("schedules", "resume", "com.example.*", "-o", "jsonl")
    #expect(json.output.contains(#""isPaused":false"#), "\(json.output)")
    for reason in ["", "  ", String(repeating: "a", count: 501)] {
      #expect(await world.baton("schedules", "pause", "com.example.*", "--reason", reason).status == 64)
    }
    #expect(await world.baton("schedules", "pause", "com.example.*").status == 64, "a pause needs a reason")
  }

  @Test func `a backfill says what it will do before it begins, by the dates of the schedule's zone`() async throws {
    let world = try Self.world()
    let arguments = ["schedules", "backfill", "com.example.running", "--from", "2026-01-01", "--to", "2026-01-31"]
    let rehearsal = await world.baton(arguments + ["--dry-run"])
    #expect(rehearsal.output.hasPrefix("com.example.running: 31 times, from "), "\(rehearsal.error)")
    #expect(rehearsal.output.hasSuffix("; nothing was begun\n"))
    // Midnight in Berlin is 23:00 UTC in winter, and the last day belongs to the range.
    let call = "backfill com.example.running 2025-12-31T23:00:00Z 2026-01-31T23:00:00Z by "
    #expect(world.coordinator.calls.last?.hasPrefix(call) == true, "\(world.coordinator.calls)")
    #expect(world.coordinator.calls.last?.hasSuffix(" rehearsal") == true)
    let begun = await world.baton(arguments)
    #expect(begun.output.contains("the backfill has begun"))
    #expect(world.coordinator.calls.suffix(2).map { $0.hasSuffix(" rehearsal") } == [true, false])
    let json = await world.baton(arguments + ["-o", "jsonl"])
    #expect(json.output.contains(#""begun":true,"total":31"#), "\(json.output)")
    let wrong = await world.baton("schedules", "backfill", "com.example.running", "--from", "yesterday", "--to", "x")
    #expect(wrong.status == 64 && wrong.error.contains("neither a date such as 2026-01-31"), "\(wrong.error)")
  }

  @Test func `a backfill that is stopped says how far it had come, and --stop goes alone`() async throws {
    let world = try Self.world {
      $0.backfill = Backfill(by: "ana", startedAt: now, from: now, until: now, made: 12, total: 31)
    }
    let stopped = await world.baton("schedules", "backfill", "com.example.running", "--stop")
    #expect(stopped.output == "com.example.running: stopped; it had come to 12 of 31 times\n", "\(stopped.error)")
    let both = await world.baton("schedules", "backfill", "com.example.running", "--stop", "--from", "2026-01-01")
    #expect(both.status == 64)
    #expect(await world.baton("schedules", "backfill", "com.example.running").status == 64, "it needs a range")
  }
}
