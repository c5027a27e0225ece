import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec

struct SchedulesBackfillCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "backfill",
    abstract: "Run a job for times of its schedule that have passed.",
    discussion: """
      Each time of the calendar from --from to --to that has passed gets a request, the earliest first, one after \
      the other. A request knows its time: BATON_SCHEDULED_TIME of a command, 'scheduledTime' of a handler. Times that \
      had a request before get another one. The job's own times go on: when one comes, its request is next after the one \
      that waits. 'baton schedules' shows how far the backfill has come. It goes on over restarts, and after \
      failures. Cancelling the request that waits ends it, and the schedule with it; --stop ends it alone.

      Dates are those of the schedule's time zone, and --to is the last day. At most 10,000 times are made up for at \
      once.

      Examples:
        baton schedules backfill com.a --from 2026-01-01 --to 2026-01-31 --dry-run
        baton schedules backfill com.a --from 2026-01-01 --to 2026-01-31
        baton schedules backfill com.a --from 2026-01-31 --to 2026-01-31T12:00:00Z
        baton schedules backfill com.a --stop
      """)

  @Argument(help: "The identifier.", completion: .definitions, transform: Arguments.identifier)
  var identifier: JobIdentifier
  @Option(help: ArgumentHelp("The first date, or the first time in UTC.", valueName: "date")) var from: String?
  @Option(help: ArgumentHelp("The last date, or the last time in UTC.", valueName: "date")) var to: String?
  @Flag(help: "Say only how many times there are, with the first and the last.") var dryRun = false
  @Flag(help: "End the backfill that goes on. What runs goes on.") var stop = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    if stop, from != nil || to != nil || dryRun { throw ValidationError("--stop takes no range: leave the rest out.") }
    if !stop, from == nil || to == nil { throw ValidationError("A backfill needs --from and --to, or --stop.") }
  }

  func run() async throws {
    if stop { return try await end() }
    let (console, identifier, from, to, isRehearsal) = (Console.current, identifier, from ?? "", to ?? "", dryRun)
    let (user, options) = (console.environment.user, options)
    try await client.connect { api in
      let (order, zone) = try await Self.order(identifier, from, to, api)
      let plan = try await api.backfill(order, by: user, isRehearsal: true)
      // Before it begins, the person knows what it will do.
      if options.output.isTable, !options.quiet {
        console.output("\(identifier): \(Self.words(plan, in: zone))\(isRehearsal ? "; nothing was begun" : "")")
      }
      let begun = isRehearsal ? plan : try await api.backfill(order, by: user, isRehearsal: false)
      console.emit(options, JSONValue(begun, of: identifier, isRehearsal: isRehearsal)) {
        isRehearsal ? [] : ["\(identifier): the backfill has begun; 'baton schedules' shows how far it has come"]
      }
    }
  }

  private static func order(
    _ identifier: JobIdentifier, _ from: String, _ to: String, _ api: any OperatorAPI
  ) async throws -> (BackfillOrder, ZoneOffsets) {
    let pattern = IdentifierPattern(identifier)
    let found = try await api.definitions(named: [pattern]).first { $0.definition.pattern == pattern }
    let timeZone = found?.definition.schedule?.timeZone ?? "UTC"
    do {
      let range = try BackfillRange(from: from, to: to, timeZone: timeZone)
      return (
        BackfillOrder(identifier: identifier, from: range.from, until: range.until),
        ZoneOffsets.named(timeZone) ?? .utc
      )
    } catch {
      throw CommandFailure(.usage, "\(error)")
    }
  }

  private static func words(_ plan: BackfillPlan, in zone: ZoneOffsets) -> String {
    plan.count == 1
      ? "one time, \(zone.words(for: plan.first))"
      : "\(plan.count) times, from \(zone.words(for: plan.first)) to \(zone.words(for: plan.last))"
  }

  private func end() async throws {
    let (console, identifier) = (Console.current, identifier)
    let stopped = try await client.connect { try await $0.stopBackfill(of: identifier) }
    console.emit(options, JSONValue(stopped: stopped, of: identifier)) {
      ["\(identifier): stopped; it had come to \(stopped.made) of \(max(stopped.made, stopped.total)) times"]
    }
  }
}
