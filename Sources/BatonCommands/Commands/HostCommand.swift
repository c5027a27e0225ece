import ArgumentParser
import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
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
    abstract: "Let hosts join the fleet, take their certificates back, and forget hosts.",
    subcommands: [
      HostInviteCommand.self, HostWaitingCommand.self, HostApproveCommand.self, HostRevokeCommand.self,
      HostForgetCommand.self,
    ])
}

struct HostInviteCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "invite",
    abstract: "Let a new host join the fleet.",
    discussion: """
      It prints a command to run on the new host. The command's token permits one join with this name, for 15 minutes \
      unless --for says otherwise. Pass it on as you would pass on a password. With --approve the token alone is not \
      enough: the host shows a number, and waits until 'baton host approve' is called with the same number.

      Examples:
        baton host invite desk
        baton host invite desk --approve
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
      """
      Where the new host reaches the coordinator; several addresses are separated by commas. Default: this machine's \
      name and the port of --operators, and those of the other coordinators of the fleet.
      """, valueName: "host:port"))
  var address: String?
  @Flag(help: "Let the host join only after 'baton host approve'.") var approve = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let name = HostName(host)
    let needsApproval = approve
    let (lifetime, user) = (lifetime ?? Invitation.lifetime, console.environment.user)
    do {
      if let address { _ = try CoordinatorAddresses(parsing: address) }
    } catch {
      throw CommandFailure(.usage, "--address: \(error)")
    }
    let isFree = address == nil
    let (invited, others) = try await client.connect { api in
      let invited = try await api.invite(name, for: lifetime, by: user, needsApproval: needsApproval)
      // Without the others the host can join too.
      return (invited, isFree ? (try? await api.coordinators()) ?? [] : [])
    }
    // A coordinator of an earlier version stores the invitation nevertheless.
    guard let operators = invited.fleet.operators else {
      throw CommandFailure(
        .notPermitted,
        "no host can join, because the coordinator listens only on its own machine: start it with --operators, such "
          + "as --operators 0.0.0.0:7422")
    }
    let address = address ?? Self.addresses(operators, others)
    // Other users of the new host see the arguments of a process, but not those of the shell's own echo.
    let command = "echo \(invited.token) | baton-worker join \(address) --pin \(invited.fleet.pin) --token -"
    console.emit(
      options.output,
      [
        "host": .string(host), "address": .string(address), "pin": .string("\(invited.fleet.pin)"),
        "token": .string("\(invited.token)"), "command": .string(command),
        "ends": .string(invited.end.rfc3339),
      ]
    ) {
      console.note("run this on \(host.onOneLine), within \(lifetime.inWords):")
      if needsApproval {
        console.note("then compare the number that it shows: baton host approve \(host.onOneLine) NUMBER")
      }
      return [command]
    }
  }

  /// The address of the coordinator that has answered, and those of the others that serve other machines.
  static func addresses(_ operators: HostPort, _ coordinators: [CoordinatorReport]) -> String {
    var all = [address(operators)]
    for other in coordinators where !other.answers && !other.isEnded {
      guard let text = other.place.operators, let endpoint = try? HostPort(parsing: text), !endpoint.isLoopback,
        !all.contains("\(endpoint)"), all.count < CoordinatorAddresses.maximumCount
      else { continue }
      all.append("\(endpoint)")
    }
    return all.joined(separator: ",")
  }

  /// The address as another machine may know it: a coordinator that listens on every address has none to show.
  static func address(_ operators: HostPort) -> String {
    guard ["0.0.0.0", "::"].contains(operators.host) else { return "\(operators)" }
    return "\(HostPort(host: ProcessInfo.processInfo.hostName, port: operators.port))"
  }
}

struct HostWaitingCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "waiting",
    abstract: "List the hosts that wait for their approval.",
    discussion: """
      Each has shown the token of an invitation that was made with --approve, and asks again every few seconds. If \
      several hosts ask with the same invitation, its token was copied, and 'baton host approve' lets none of them join: \
      revoke the host, and invite it again.

      Examples:
        baton host waiting
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let hosts = try await client.connect { try await $0.waitingHosts() }
    let objects: [JSONValue] = hosts.map {
      [
        "host": .string($0.host.rawValue), "number": .string($0.number), "from": .string($0.peer),
        "at": .string($0.at.rfc3339), "asking": JSONValue($0.asking),
      ]
    }
    console.emit(options.output, list: objects) {
      if hosts.isEmpty { console.note("no host waits for its approval") }
      for warning in Self.copied(hosts) { console.note(warning) }
      return TablePrinter.lines(
        [.init("HOST"), .init("NUMBER"), .init("FROM", rank: 1)],
        hosts.map { [Cell($0.host.rawValue), Cell($0.number), Cell($0.peer)] }, style: console.style(of: .output),
        width: console.outputColumns)
    }
  }
}

extension HostWaitingCommand {
  /// A warning for each name with an invitation that several hosts use.
  static func copied(_ hosts: [WaitingHost]) -> [String] {
    let copied = Dictionary(grouping: hosts.filter { $0.asking > 1 }, by: \.host).sorted { $0.key < $1.key }
    return copied.map { host, asking in
      let name = host.rawValue.onOneLine
      return "\(asking[0].asking) hosts ask with the same invitation of \(name), from "
        + asking.map(\.peer.onOneLine).joined(separator: ", ")
        + ": its token was copied, so none of them can be approved; 'baton host revoke \(name)' takes the invitation back"
    }
  }
}

struct HostApproveCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "approve",
    abstract: "Let a waiting host join.",
    discussion: """
      The number is the one that the host itself shows. Take it from the host's owner by another way than the token.

      Examples:
        baton host approve desk 082514
      """)

  @Argument(help: "The name in the invitation.") var host: String
  @Argument(help: "The six digits that the host shows.") var number: String
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let (name, number) = (HostName(host), number)
    try await client.connect { try await $0.approve(name, number: number) }
    Console.current.emit(options, ["host": .string(host), "approved": .bool(true)]) {
      ["\(host.onOneLine): approved; it joins when it asks again"]
    }
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
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let name = HostName(host)
    let count = try await client.connect { try await $0.revoke(name) }
    Console.current.emit(options, ["host": .string(host), "certificates": JSONValue(count)]) {
      [
        count == 0
          ? "\(host.onOneLine): has no valid certificate; its open invitations are taken back"
          : "\(host.onOneLine): revoked, with \(count) certificate\(count == 1 ? "" : "s")"
      ]
    }
  }
}

struct HostForgetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Forget a host that is gone.",
    discussion: """
      The host is listed no more. Its evictions and its drain end, and its history and its secret go: a worker that \
      comes back with this name is a new host. Its ended launches still name it. Its transfers fail, and their jobs are \
      launched with these failures (hostForgotten). It is refused while a worker holds the \
      host's lease: stop the worker, and wait until 'baton hosts' shows the host as gone. Hosts that have been gone for \
      30 days (retention.hosts) are forgotten by themselves.

      Examples:
        baton host forget desk
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.") var host: String
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let name = HostName(host)
    try await client.connect { try await $0.forgetHost(name) }
    Console.current.emit(options, ["host": .string(host), "forgotten": .bool(true)]) {
      ["\(host.onOneLine): forgotten"]
    }
  }
}
