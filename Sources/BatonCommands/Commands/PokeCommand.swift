import ArgumentParser
import BatonCoordinator
import BatonModel

struct PokeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "poke",
    abstract: "Ask for a launch soon. Several pokes of an identifier become one launch.",
    discussion: """
      A poke joins the request of its identifier that waits, or makes one; the last payload counts. There are at least \
      15 minutes between the first launches of such requests, or the time that 'pokeSpacing' of the definition sets. A \
      poke of priority 10 is not delayed. The sender of each poke is recorded.

      Exit status as 'baton submit'. A poke that is repeated with the same --id changes nothing, and gets the answer \
      of the first.

      Examples:
        baton poke com.example.news
        baton poke com.example.news --payload '{"since": 42}' --id "$DELIVERY"
        baton poke com.example.news --priority 10 --wait
      """)

  @Argument(
    help: "The identifier; a pattern cannot be poked.", completion: .identifiers,
    transform: Arguments.identifier)
  var identifier: JobIdentifier

  @Option(
    help: ArgumentHelp("5 waits for its turn, 10 goes at once. Default: 5.", valueName: "5|10"),
    completion: .list(Arguments.pokePriorities), transform: Arguments.pokePriority)
  var priority: PokePriority?

  @Option(
    help: ArgumentHelp(
      "An id for this poke. Give the same id when you repeat the poke. Default: a new id.", valueName: "id"),
    transform: Arguments.submissionID)
  var id: String?

  @OptionGroup var submission: SubmissionOptions

  func run() async throws {
    let environment = CommandEnvironment.current
    let order = SubmissionOrder(
      id: id ?? environment.drawSubmissionID(), identifier: identifier, payload: submission.payload,
      poke: priority ?? .considerate, parent: environment.submitterSpan)
    try await submission.submit([order])
  }
}
