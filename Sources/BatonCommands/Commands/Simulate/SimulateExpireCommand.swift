import ArgumentParser
import BatonCoordinator
import BatonModel

struct SimulateExpireCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "expire",
    abstract: "Expire the running launch of a request, as if for a given reason.",
    discussion: """
      The handler or command gets the reason 'simulated', with the given reason as its detail. It has its closing \
      window as usual; then the request goes on after its last checkpoint, on any host. Exit status 4 if it does not \
      run.

      Examples:
        baton simulate expire com.example.report
        baton simulate expire com.example.report --reason thermal
      """)

  @OptionGroup var request: RequestArgument

  @Option(
    help: ArgumentHelp(
      "As if for this reason: \(Arguments.simulatedReasons.joined(separator: ", ")).", valueName: "code"),
    completion: .list(Arguments.simulatedReasons), transform: Arguments.simulatedReason)
  var reason: ExpiryReason.Kind?

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let (request, reason) = (request, reason)
    let launch = try await client.connect { api in
      try await api.simulateExpiry(request.identifier, number: request.request, as: reason)
    }
    let json = JSONValue(launch).adding(["reason": JSONValue(reason?.rawValue)])
    Console.current.emit(options.output, json) {
      [
        "\(launch.name): launch \(launch.launch) on \(launch.host.rawValue.onOneLine) is asked to stop, simulated"
          + (reason.map { " (\($0.rawValue))" } ?? "")
      ]
    }
  }
}
