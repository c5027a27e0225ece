import ArgumentParser
import BatonCoordinator
import BatonModel

struct HostsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "hosts",
    abstract: "Show the hosts of the fleet, or one with all its conditions.",
    discussion: """
      With a name: every condition with where it comes from and what was read. A value that nobody knows is shown as \
      unknown.

      Examples:
        baton hosts
        baton hosts alpha
        baton hosts -o json | jq -r '.[] | select(.state == "ready") | .name'
      """)

  @Argument(help: "One host.") var name: String?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
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
      ? "none has connected yet" : "known: " + hosts.map(\.name.rawValue).joined(separator: ", ").onOneLine
    return CommandFailure(.notFound, "there is no host '\(name.onOneLine)'; \(known)")
  }
}
