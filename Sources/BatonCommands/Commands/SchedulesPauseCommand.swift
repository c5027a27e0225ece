import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct SchedulesPauseCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Let no request start that a schedule has made.",
    discussion: """
      The request that waits for the next time of the calendar, or of 'repeat', waits for 'baton schedules resume' \
      from now on, and so do those of a backfill. What runs goes on, and so do its further launches. 'baton submit' \
      and 'baton start' still start the job once, because a person asks for it. A pause outlasts restarts and a \
      changed definition. A definition that is applied later is not paused by an earlier pause of a pattern. A \
      schedule that is paused already gets the new reason.

      Examples:
        baton schedules pause com.example.report --reason "the disk is full"
        baton schedules pause 'com.example.nightly.*' --reason "ask Ana"
      """)

  @Argument(
    help: "The identifier, or the pattern above several.", completion: .definitions, transform: Arguments.pattern)
  var identifier: IdentifierPattern
  @Option(help: ArgumentHelp("Why, for those who find the schedule paused.", valueName: "text"))
  var reason: String
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    if reason.allSatisfy(\.isWhitespace) { throw ValidationError("--reason is empty: say why the schedule is paused.") }
    if reason.utf8.count > SchedulePause.longestReason {
      throw ValidationError("--reason is longer than \(SchedulePause.longestReason) bytes.")
    }
  }

  func run() async throws {
    let (console, pattern, reason) = (Console.current, identifier, reason)
    let user = console.environment.user
    let changed = try await client.connect {
      try await $0.setSchedules(pattern, .pause(reason: reason), by: user)
    }
    console.emit(options, list: changed.map { JSONValue($0, isPaused: true) }) {
      changed.map { "\($0.identifier.rawValue.onOneLine): paused" }
    }
  }
}

struct SchedulesResumeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "End the pause of a schedule.",
    discussion: """
      The times that have passed meanwhile count as 'schedule.missed' says: one request stands for all of them \
      ('once'), each of them has one ('all'), or they are left out ('skip'). A job with 'repeat' comes once, and then \
      at its next times.

      Examples:
        baton schedules resume com.example.report
        baton schedules resume 'com.example.nightly.*'
      """)

  @Argument(
    help: "The identifier, or the pattern above several.", completion: .definitions, transform: Arguments.pattern)
  var identifier: IdentifierPattern
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let (console, pattern) = (Console.current, identifier)
    let user = console.environment.user
    let changed = try await client.connect { try await $0.setSchedules(pattern, .resume, by: user) }
    console.emit(options, list: changed.map { JSONValue($0, isPaused: false) }) {
      let now = console.environment.now()
      return changed.map { "\($0.identifier.rawValue.onOneLine): goes on; it was \($0.pause.words(at: now))" }
    }
  }
}

extension SchedulePause {
  /// The pause for people: `paused 2h ago by ana: the disk is full`.
  func words(at now: Timestamp) -> String {
    "paused \(since.relative(to: now))\(by.isEmpty ? "" : " by \(by.onOneLine)"): \(reason.onOneLine)"
  }
}
