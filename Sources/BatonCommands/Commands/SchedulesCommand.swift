import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// `baton schedules`: the jobs that come by themselves.
struct SchedulesCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "schedules",
    abstract: "Show the jobs that come by themselves, pause them, and make up for times that have passed.",
    discussion: """
      Examples:
        baton schedules
        baton schedules pause 'com.example.nightly.*' --reason "the disk is full"
        baton schedules resume 'com.example.nightly.*'
        baton schedules backfill com.example.report --from 2026-01-01 --to 2026-01-31
      """,
    subcommands: [
      SchedulesListCommand.self, SchedulesPauseCommand.self, SchedulesResumeCommand.self,
      SchedulesBackfillCommand.self,
    ],
    defaultSubcommand: SchedulesListCommand.self)
}

struct SchedulesListCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Show the jobs that come by themselves: when next, when last, and how that went.",
    discussion: """
      These are the definitions with 'schedule' or 'repeat'. NEXT is when the next request begins, in the time zone of \
      its schedule. 'not scheduled' means that the chain has ended: it was cancelled, or its time has run out; 'baton \
      apply FILE' begins it again. 'paused' says by whom, since when and why; 'backfill' says how far it has come. \
      LAST is the request that was launched last.

      Examples:
        baton schedules list
        baton schedules list 'com.example.nightly.*'
        baton schedules -o jsonl | jq -r 'select(.nextAt == null).identifier'
        baton schedules -o jsonl | jq -r 'select(.paused).identifier'
      """)

  @Argument(
    help: "Only the definitions of these identifiers, or below these patterns.", completion: .definitions,
    transform: Arguments.pattern)
  var patterns: [IdentifierPattern] = []

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let (console, patterns) = (Console.current, patterns)
    let jobs = try await client.connect { api in
      var jobs: [ScheduledJob] = []
      for report in try await api.definitions(named: patterns) where ScheduledJob.includes(report) {
        jobs.append(try await ScheduledJob(report, asking: api))
      }
      return jobs
    }
    console.emit(options.output, list: jobs.map(\.json)) { table(jobs, console) }
  }

  private func table(_ jobs: [ScheduledJob], _ console: Console) -> [String] {
    if jobs.isEmpty { console.note("no job comes by itself: a job file says so with 'schedule' or 'repeat'") }
    let now = console.environment.now()
    return TablePrinter.lines(
      [.init("IDENTIFIER"), .init("WHEN", rank: 2), .init("NEXT"), .init("LAST", rank: 1), .init("RESULT", rank: 3)],
      jobs.map { job in
        [
          Cell(job.definition.pattern.rawValue), Cell(job.definition.comesWhen), next(of: job, now),
          Cell(job.last.map { $0.startedAt?.relative(to: now) ?? "-" } ?? "never"),
          Cell(job.last?.outcome ?? job.last?.state.rawValue ?? "-", job.last?.state.colour),
        ]
      }, style: console.style(of: .output), width: console.outputColumns)
  }

  private func next(of job: ScheduledJob, _ now: Timestamp) -> Cell {
    if let pause = job.standing.pause { return Cell(pause.words(at: now), .yellow) }
    let next = nextTime(of: job, now)
    guard let backfill = job.standing.backfill else { return next }
    return Cell("\(backfill.words); \(next.text)", next.colour)
  }

  private func nextTime(of job: ScheduledJob, _ now: Timestamp) -> Cell {
    guard let next = job.next else { return Cell("not scheduled", .yellow) }
    // A request that waits for the one before has no time.
    guard next.state == .scheduled, next.eligibleAt != .distantFuture else {
      return Cell(next.waitsBecause?.text ?? next.state.rawValue)
    }
    return Cell("\(job.zone.words(for: next.eligibleAt)), \(next.eligibleAt.relative(to: now))")
  }
}
