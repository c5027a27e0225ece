import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct PruneCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "prune",
    abstract: "Delete requests that have ended, with their launches and output.",
    discussion: """
      Requests are deleted by themselves 30 days after their end (retention.ended), or after the 'retention' of their \
      definition. This deletes them earlier, those that ended first at the beginning, at most 10,000 in a call. A \
      request whose spans a tracing backend has not taken yet stays.

      On a terminal the command asks for confirmation; a script must give --yes, otherwise the command is refused.

      Examples:
        baton prune --older-than 7d
        baton prune 'com.example.photos.*' --state failed --dry-run
        baton prune com.example.report --yes
      """)

  @Argument(help: "Only requests of this identifier, or below this pattern.", transform: Arguments.pattern)
  var pattern: IdentifierPattern?

  @Option(
    help: ArgumentHelp("Only requests that ended so long ago, such as 7d.", valueName: "duration"),
    transform: TimeArgument.duration)
  var olderThan: Duration?

  @Option(
    help: ArgumentHelp(
      "Only requests in this state: \(Self.stateNames.joined(separator: ", ")). May be given several times.",
      valueName: "state"), completion: .list(Self.stateNames), transform: Self.state)
  var state: [RequestState] = []

  @Flag(help: "Say how many requests would be deleted, and delete nothing.") var dryRun = false
  @Flag(help: "Do not ask before requests are deleted.") var yes = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private static let stateNames = RequestState.allCases.filter(\.isEnded).map(\.rawValue)

  private static func state(_ text: String) throws -> RequestState {
    if let state = RequestState(rawValue: text), state.isEnded { return state }
    throw ValidationError("It must be one of \(stateNames.joined(separator: ", ")).")
  }

  func validate() throws {
    guard pattern != nil || olderThan != nil || !state.isEmpty else {
      throw ValidationError("Name an identifier or a pattern, or give --older-than or --state.")
    }
  }

  func run() async throws {
    let console = Console.current
    let selection = PruneSelection(pattern: pattern, states: Set(state), endedFor: olderThan ?? .zero)
    if !dryRun, !yes {
      let found = try await client.connect { try await $0.prune(selection, isRehearsal: true) }
      guard found.count > 0 else { return tell(found, console) }
      try confirm(found, console)
    }
    let isRehearsal = dryRun
    tell(try await client.connect { try await $0.prune(selection, isRehearsal: isRehearsal) }, console)
  }

  private func confirm(_ found: PruneAnswer, _ console: Console) throws {
    guard let readAnswer = console.environment.readAnswer else {
      throw CommandFailure(
        .usage, "this would delete \(found.text): confirm with --yes, or look at them with 'baton list --all'")
    }
    console.write("delete \(found.text)? [y/N] ", to: .error)
    guard ["y", "yes"].contains(readAnswer()?.lowercased() ?? "") else {
      throw CommandFailure(.failed, "nothing was deleted")
    }
  }

  private func tell(_ answer: PruneAnswer, _ console: Console) {
    if options.quiet, !dryRun { return }
    console.emit(options.output, JSONValue(answer, isRehearsal: dryRun)) {
      if answer.count == 0 { console.note("nothing to prune: no ended request matches") }
      if answer.hasMore { console.note("more requests match: run the command again") }
      return answer.count == 0 ? [] : [(dryRun ? "would delete " : "deleted ") + answer.text]
    }
  }
}

extension PruneAnswer {
  /// How many requests of which state: `12 requests (10 succeeded, 2 failed)`.
  fileprivate var text: String {
    let states = RequestState.allCases.compactMap { state in counts[state].map { "\($0) \(state.rawValue)" } }
    return counted(count, "request") + (states.isEmpty ? "" : " (\(states.joined(separator: ", ")))")
  }
}
