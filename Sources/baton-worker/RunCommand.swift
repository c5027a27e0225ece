import ArgumentParser
import BatonProcess
import BatonSettings
import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `baton-worker` or `baton-worker run`: runs the worker of this host.
struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run the worker of this host (the default command).",
    discussion: "Settings come from flags, else from the environment (BATON_SLOTS), else from worker.yaml.")

  @Option(
    help: """
      Where the coordinator listens, HOST:PORT, or several addresses separated by commas (default: BATON_COORDINATOR, \
      else 127.0.0.1:7420).
      """)
  var coordinator: String?

  @Option(help: "The host's name in the fleet, unique there (default: the machine's name).")
  var name: String?

  @Option(help: "The worker's own folder (default: $XDG_STATE_HOME/baton/worker/NAME).")
  var data: String?

  @Option(help: "How many slots the launches here share (default: the number of cores).")
  var slots: Int?

  @Option(help: "A worker.yaml with these and more settings.")
  var config: String?

  @Option(
    help:
      "The file with the coordinator's token (default: BATON_TOKEN_FILE, else what the coordinator left for its user).")
  var tokenFile: String?

  @Option(help: "Where /healthz and /readyz are served, HOST:PORT on loopback (default: nowhere).")
  var http: String?

  @Option(help: "Where /metrics is served over TLS, HOST:PORT, on a host that has joined (default: nowhere).")
  var https: String?

  @Option(help: "How much is logged to standard error: trace, debug, info, notice, warning, error, critical.")
  var logLevel: String?

  mutating func run() async throws {
    // This keeps the token from other processes of the same user. Both the supervisor and the worker do it before the
    // token is read.
    ProcessPrivacy.hide(environment: ProcessInfo.processInfo.environment)
    let setup: WorkerSetup
    do {
      setup = try await WorkerSetup(self, environment: ProcessInfo.processInfo.environment)
    } catch {
      StandardError.say("baton-worker: \(error)")
      throw ExitCode(64)
    }
    throw ExitCode(try await SupervisedProcess.isSupervised ? setup.workSupervised() : setup.supervise())
  }
}
