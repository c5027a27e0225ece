import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct SimulateExpireCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "expire",
    abstract: "Expire the running launch of a request, or of several, as if for a given reason.",
    discussion: """
      The handler or command gets the reason 'simulated', with the given reason as its detail. It has its closing \
      window as usual; then the request goes on after its last checkpoint, on any host. Exit status 4 if it does not \
      run.

      A pattern, --host, --older-than or --by chooses several running requests, at most 10,000. On a terminal the \
      command then asks for confirmation; a script must give --yes.

      Examples:
        baton simulate expire com.example.report
        baton simulate expire com.example.report --reason thermal
        baton simulate expire 'com.example.photos.*' --host alpha --dry-run
      """)

  @Argument(help: "The identifier, or a pattern.", completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern?

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @Option(
    help: ArgumentHelp(
      "As if for this reason: \(Arguments.simulatedReasons.joined(separator: ", ")).", valueName: "code"),
    completion: .list(Arguments.simulatedReasons), transform: Arguments.simulatedReason)
  var reason: ExpiryReason.Kind?

  @OptionGroup var bulk: BulkOptions
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private var isBulk: Bool { bulk.chooses || identifier?.literal == nil }

  func validate() throws {
    try SimulateCommand.check(identifier, request, isBulk: isBulk, chooses: bulk.chooses)
  }

  func run() async throws {
    let reason = reason
    guard !isBulk, let identifier = identifier?.literal else { return try await expireSeveral(as: reason) }
    if bulk.dryRun {
      return try await client.foresee(
        identifier, request, options, where: { $0.state == .running }, foreseen: Self.foreseen)
    }
    let number = request
    let launch = try await client.connect { try await $0.simulateExpiry(identifier, number: number, as: reason) }
    Console.current.emit(options, Self.json(launch, reason)) { [Self.line(launch, reason)] }
  }

  private func expireSeveral(as reason: ExpiryReason.Kind?) async throws {
    let change = BulkChange(
      verb: "expire",
      filter: RequestFilter(states: [.running], pattern: identifier, host: bulk.host.map { HostName($0) }),
      options: bulk.choice)
    try await change.carryOut(
      client, options, nothing: "nothing to expire: no running request matches",
      foreseen: Self.foreseen, json: { Self.json($0, reason) },
      line: { Self.line($0, reason) },
      change: { api, record in try await api.simulateExpiry(record.identifier, number: record.number, as: reason) })
  }

  private static func foreseen(_: RequestRecord) -> String { "its launch would be asked to stop" }

  private static func json(_ launch: SimulatedLaunch, _ reason: ExpiryReason.Kind?) -> JSONValue {
    JSONValue(launch, as: reason)
  }

  private static func line(_ launch: SimulatedLaunch, _ reason: ExpiryReason.Kind?) -> String {
    "\(launch.name): launch \(launch.launch) on \(launch.host.rawValue.onOneLine) is asked to stop, simulated"
      + (reason.map { " (\($0.rawValue))" } ?? "")
  }
}
