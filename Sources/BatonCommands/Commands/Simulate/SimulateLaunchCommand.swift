import ArgumentParser
import BatonCoordinator
import BatonModel

struct SimulateLaunchCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "launch",
    abstract: "Start a request that waits, whatever its times and the conditions of the host.",
    discussion: """
      It still respects what the host can do, what its owner forbids, and the slots and GPUs that other launches hold. \
      Exit status 4 if no host can start the request even so, or if the request does not wait.

      Examples:
        baton simulate launch com.example.report
        baton simulate launch com.example.report --host alpha
      """)

  @OptionGroup var request: RequestArgument

  @Option(help: ArgumentHelp("On this host. Default: the first that can.", valueName: "name")) var host: String?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let (request, host) = (request, host.map { HostName($0) })
    let launch = try await client.connect(concerning: host) { api in
      try await api.simulateLaunch(request.identifier, number: request.request, on: host)
    }
    Console.current.emit(options.output, JSONValue(launch)) {
      ["\(launch.name): launch \(launch.launch) on \(launch.host.rawValue.onOneLine), simulated"]
    }
  }
}
