import ArgumentParser
import BatonModel
import BatonSettings
import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The command line of `baton-worker`: it runs a worker, or talks to a worker that runs on this host.
@main
struct BatonWorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "baton-worker",
    abstract: "Runs launches that a coordinator assigns to this host.",
    discussion: """
      One worker runs on each host. It holds a lease from the coordinator, runs commands in batches with a checkpoint \
      after each, and stops them when the coordinator requires it. On SIGTERM the worker expires its launches with the \
      reason 'draining', and exits when the coordinator knows their outcomes.

      It also expires launches as soon as the host's power, battery, temperature, network or use forbids them, and \
      when the host's owner takes the host back: 'baton-worker pause'.

      EXAMPLES
        baton-worker --name desk
        baton-worker --coordinator 127.0.0.1:7420 --name desk --data /var/lib/baton-worker --slots 4
        baton-worker pause 2h
        baton-worker status
      """,
    version: BatonVersion.current,
    subcommands: [RunCommand.self, JoinCommand.self, PauseCommand.self, ResumeCommand.self, StatusCommand.self],
    defaultSubcommand: RunCommand.self)

  static func main() async {
    if let unknown = UnknownCommand.found(in: Array(CommandLine.arguments.dropFirst()), of: Self.self) {
      StandardError.say("baton-worker: \(unknown.message)")
      exit(withError: ExitCode(64))
    }
    await main(nil)
  }
}
