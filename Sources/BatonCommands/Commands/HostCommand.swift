import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonModel
import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `baton host`: which hosts may join the fleet.
struct HostCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "host",
    abstract: "Let hosts join the fleet, and take their certificates back.",
    subcommands: [HostInviteCommand.self, HostRevokeCommand.self])
}

struct HostInviteCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "invite",
    abstract: "Let a new host join the fleet.",
    discussion: """
      It prints a command to run on the new host. The command's token permits one join with this name, for 15 minutes \
      unless --for says otherwise. Pass it on as you would pass on a password.

      Examples:
        baton host invite desk
        baton host invite desk --for 1h --address base.example.org:7422
      """)

  @Argument(help: "The name of the new host in the fleet.") var host: String
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long the invitation is valid, up to 7d. Default: 15m.", valueName: "duration"),
    transform: TimeArgument.duration)
  var lifetime: Duration?
  @Option(
    help: ArgumentHelp(
      "Where the new host reaches this coordinator. Default: this machine's name and the port of --operators.",
      valueName: "host:port"))
  var address: String?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let name = HostName(host)
    let (lifetime, user) = (lifetime ?? Invitation.lifetime, console.environment.user)
    let invited = try await client.connect { try await $0.invite(name, for: lifetime, by: user) }
    guard let operators = invited.fleet.operators else {
      throw CommandFailure(
        .notPermitted,
        "no host can join, because the coordinator listens only on its own machine: start it with --operators, such "
          + "as --operators 0.0.0.0:7422")
    }
    let address = address ?? Self.address(operators)
    let command = "baton-worker join \(address) --pin \(invited.fleet.pin) --token \(invited.token)"
    console.emit(
      options.output,
      [
        "host": .string(host), "address": .string(address), "pin": .string("\(invited.fleet.pin)"),
        "token": .string("\(invited.token)"), "command": .string(command),
        "ends": .string(invited.end.rfc3339),
      ]
    ) {
      console.note("run this on \(host.onOneLine), within \(lifetime.inWords):")
      return [command]
    }
  }

  /// The address as another machine may know it: a coordinator that listens on every address has none to show.
  static func address(_ operators: HostPort) -> String {
    guard ["0.0.0.0", "::"].contains(operators.host) else { return "\(operators)" }
    return "\(HostPort(host: ProcessInfo.processInfo.hostName, port: operators.port))"
  }
}

struct HostRevokeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Take all certificates of a host back, for ever.",
    discussion: """
      Its connection ends, it can report nothing more, and other hosts go on with its launches after their last \
      checkpoints. It stays revoked if an older copy of the store is put back. A new invitation lets it join again.

      Examples:
        baton host revoke desk
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.") var host: String
  @OptionGroup var client: ClientOptions

  func run() async throws {
    let name = HostName(host)
    let count = try await client.connect { try await $0.revoke(name) }
    Console.current.output(
      count == 0
        ? "\(host.onOneLine): has no valid certificate; its open invitations are taken back"
        : "\(host.onOneLine): revoked, with \(count) certificate\(count == 1 ? "" : "s")")
  }
}

struct FleetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract: "Show the fleet's pin, and where the coordinator listens for other machines.",
    discussion: """
      The pin is how hosts and operators of other machines recognise the coordinator. It is no secret, but has to come \
      to them by a channel that no other person can change.

      Examples:
        baton fleet
        baton fleet -o json | jq -r .pin
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
      ]
    ) {
      [
        "Fleet      \(fleet.fleet)", "Pin        \(fleet.pin)", "Workers    \(address(fleet.workers))",
        "Operators  \(address(fleet.operators))",
      ]
    }
  }
}
