import ArgumentParser
import BatonCoordinator
import BatonModel

struct PokeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "poke",
    abstract: "Ask for a launch soon, together with others who ask for the same.",
    discussion: """
      Pokes of an identifier join the request of it that waits, and the last payload wins. First launches that pokes \
      asked for are 15 minutes apart, or what 'pokeSpacing' of the definition says. A poke of priority 10 goes at once; \
      who sent it is recorded.

      Exit status as 'baton submit'. A poke that is repeated with the same --id changes nothing, and gets the answer \
      of the first.

      Examples:
        baton poke com.example.news
        baton poke com.example.news --payload '{"since": 42}' --id "$DELIVERY"
        baton poke com.example.news --priority 10 --wait
      """)

  @Argument(help: "The identifier; a pattern cannot be poked.", transform: Arguments.identifier)
  var identifier: JobIdentifier

  @Option(
    help: ArgumentHelp("5 waits for its turn, 10 goes at once. Default: 5.", valueName: "5|10"),
    completion: .list(Arguments.pokePriorities), transform: Arguments.pokePriority)
  var priority: PokePriority?

  @Option(
    help: ArgumentHelp("The poke's own id, the same if you repeat it. Default: a new one.", valueName: "id"),
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
