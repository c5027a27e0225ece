import ArgumentParser
import BatonCoordinator
import BatonModel

struct HostsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "hosts",
    abstract: "Show the hosts of the fleet, or one with all its conditions.",
    discussion: """
      With a name, it shows every condition with its source and the raw reading. A condition that could not be \
      determined is shown as unknown.

      A name belongs to the worker that used it first; the worker proves this with a secret in its data folder. \
      --forget releases the name of a host whose secret is lost.

      Examples:
        baton hosts
        baton hosts alpha
        baton hosts --forget alpha    # installed again: take its next worker
        baton hosts -o json | jq -r '.[] | select(.state == "ready") | .name'
      """)

  @Argument(help: "One host.", completion: .hosts) var name: String?
  @Option(help: ArgumentHelp("Release the name of a host, for a worker with another secret.", valueName: "host"))
  var forget: String?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    guard name == nil || forget == nil else {
      throw ValidationError("--forget HOST shows nothing: leave the name out.")
    }
  }

  func run() async throws {
    let console = Console.current
    if let forget {
      let host = HostName(forget)
      try await client.connect { try await $0.forget(host) }
      return console.output("\(forget.onOneLine): released; the next worker of that name is taken")
    }
    let hosts = try await client.connect { try await $0.hostReports() }
    guard let name else {
      return console.emit(options.output, list: hosts.map { JSONValue($0) }) { hostTable(hosts, console) }
    }
    guard let host = hosts.first(where: { $0.name.rawValue == name }) else { throw Self.unknown(name, hosts) }
    console.emit(options.output, JSONValue(host)) { hostBlock(host, console) }
  }

  private static func unknown(_ name: String, _ hosts: [HostReport]) -> CommandFailure {
    let known =
      hosts.isEmpty
      ? "no host has connected yet" : "known: " + hosts.map(\.name.rawValue).joined(separator: ", ").onOneLine
    return CommandFailure(.notFound, "there is no host '\(name.onOneLine)'; \(known)")
  }
}
