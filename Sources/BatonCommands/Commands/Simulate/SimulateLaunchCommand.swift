import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct SimulateLaunchCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "launch",
    abstract: "Start a waiting request now, before its time and against the host's conditions, as a test.",
    discussion: """
      The request starts although its date, its rate limit or its back-off says later, and although the host runs on \
      its battery, is in use or is hot, for instance. The launch is marked as simulated. It still respects what the host can do, what its owner forbids, and the slots and GPUs that other launches hold. \
      Exit status 4 if no host can start the request even so, or if the request does not wait.

      A pattern, --older-than or --by chooses several waiting requests, at most 10,000; those that no host can start \
      are passed over. On a terminal the command then asks for confirmation; a script must give --yes. To run a job \
      now that is not to be marked as simulated, use 'baton start'.

      Examples:
        baton simulate launch com.example.report
        baton simulate launch com.example.report --host alpha
        baton simulate launch 'com.example.photos.*' --dry-run
      """)

  @Argument(help: "The identifier, or a pattern.", completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern?

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @Option(help: ArgumentHelp("On this host. Default: the first that can.", valueName: "name"), completion: .hosts)
  var host: String?
  @OptionGroup var bulk: BulkChoice
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private var isBulk: Bool { bulk.chooses || identifier?.literal == nil }

  func validate() throws {
    try SimulateCommand.check(identifier, request, isBulk: isBulk, chooses: bulk.chooses)
  }

  func run() async throws {
    let host = host.map { HostName($0) }
    guard !isBulk, let identifier = identifier?.literal else { return try await launchSeveral(on: host) }
    if bulk.dryRun {
      return try await client.foresee(
        identifier, request, options, where: \.state.isPending, foreseen: Self.foreseen)
    }
    let number = request
    let launch = try await client.connect(concerning: host) { api in
      try await api.simulateLaunch(identifier, number: number, on: host)
    }
    Console.current.emit(options, JSONValue(launch)) { [Self.line(launch)] }
  }

  private func launchSeveral(on host: HostName?) async throws {
    let change = BulkChange(
      verb: "launch", filter: RequestFilter(states: [.scheduled, .ready], pattern: identifier), options: bulk)
    try await change.carryOut(
      client, options, nothing: "nothing to launch: no waiting request matches",
      foreseen: Self.foreseen, json: { JSONValue($0) }, line: Self.line,
      change: { api, record in try await api.simulateLaunch(record.identifier, number: record.number, on: host) })
  }

  private static func foreseen(_ record: RequestRecord) -> String { "would be launched, \(record.state.rawValue)" }

  private static func line(_ launch: SimulatedLaunch) -> String {
    "\(launch.name): launch \(launch.launch) on \(launch.host.rawValue.onOneLine), simulated"
  }
}
