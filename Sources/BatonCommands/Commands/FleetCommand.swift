import ArgumentParser
import BatonCoordinator
import BatonIdentity
import BatonJSON
import BatonModel
import BatonWire

/// `baton fleet`: how clients recognise the fleet.
struct FleetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract: "Show how other machines recognise this fleet, and replace its root.",
    discussion: """
      Examples:
        baton fleet
        baton fleet roots > fleet.pem
      """,
    subcommands: [FleetShowCommand.self, FleetRootsCommand.self, FleetRotateCommand.self],
    defaultSubcommand: FleetShowCommand.self)
}

struct FleetShowCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show the fleet's pin, and where the coordinator listens for other machines.",
    discussion: """
      The pin is how hosts and operators of other machines recognise the coordinator. It is no secret, but has to come \
      to them by a channel that no other person can change.

      Examples:
        baton fleet show
        baton fleet show -o json | jq -r .pin
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let fleet = try await client.connect { try await $0.fleet() }
    func address(_ address: HostPort?) -> String { address.map { "\($0)" } ?? "off" }
    console.emit(
      options.output,
      [
        "fleet": .string(fleet.fleet), "pin": .string("\(fleet.pin)"),
        "workers": JSONValue(fleet.workers.map { "\($0)" }), "operators": JSONValue(fleet.operators.map { "\($0)" }),
        "https": JSONValue(fleet.https.map { "\($0)" }), "roots": JSONValue(fleet.roots.count),
        "hostsOfOldRoot": JSONValue(fleet.hostsOfOldRoot), "awaitsRestart": .bool(fleet.awaitsRestart),
        "awaitedHosts": .array(fleet.awaitedHosts.map { .string($0.rawValue) }),
      ]
    ) {
      [
        "Fleet      \(fleet.fleet)", "Pin        \(fleet.pin)", "Workers    \(address(fleet.workers))",
        "Operators  \(address(fleet.operators))", "HTTPS      \(address(fleet.https))",
      ] + Self.rotation(fleet)
    }
  }
}

extension FleetShowCommand {
  /// How far the replacement of the root is, and the hosts that it waits for; empty if the root is not being replaced.
  fileprivate static func rotation(_ fleet: FleetDescription) -> [String] {
    guard fleet.roots.count > 1 else {
      return fleet.awaitsRestart
        ? ["Root       the next root was made: restart the coordinator, which then begins to replace the present one"]
        : []
    }
    if fleet.hostsOfOldRoot == 0 {
      return ["Root       is being replaced: every host knows the next one; restart the coordinator"]
    }
    let names = fleet.awaitedHosts.map(\.rawValue.onOneLine).joined(separator: ", ")
    let others = fleet.hostsOfOldRoot - fleet.awaitedHosts.count
    return [
      "Root       is being replaced: hosts that have not renewed their certificate yet: \(fleet.hostsOfOldRoot)"
    ] + (names.isEmpty ? [] : ["           \(names)" + (others > 0 ? ", and \(others) more" : "")])
  }
}

struct FleetRootsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "roots",
    abstract: "Print the fleet's root certificates (PEM).",
    discussion: """
      Programs that read /metrics or poke over HTTPS check the coordinator's certificate with them. The name in the \
      certificate is FLEET.coordinator.baton at every address; for a worker it is HOST.FLEET.host.baton.

      Examples:
        baton fleet roots > fleet.pem
      """)

  @OptionGroup var client: ClientOptions

  func run() async throws {
    let fleet = try await client.connect { try await $0.fleet() }
    for root in fleet.roots { Console.current.output(try FleetAuthority.pem(of: root)) }
  }
}

struct FleetRotateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Begin to replace the fleet's root by a new one.",
    discussion: """
      It takes two restarts of the coordinator. After the first one, hosts get certificates of the new root when they \
      renew their own, and 'baton fleet' says how many have not. After the second one the old root counts for nothing. \
      Operators run 'baton whoami' between the two, so that their logins know the new root.

      Examples:
        baton fleet rotate
      """)

  @OptionGroup var client: ClientOptions

  func run() async throws {
    _ = try await client.connect { try await $0.rotateRoot() }
    Console.current.output(
      "the next root was made; restart the coordinator to begin, and back up authority.pem in its data folder")
  }
}
