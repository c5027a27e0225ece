package import ArgumentParser
import BatonWorkerSettings

/// The options of a program that is a worker. `baton-worker run` has them, and so has `WorkerProgram.main`.
package struct WorkerOptions: ParsableArguments, Sendable {
  @Option(
    help: """
      Where the coordinator listens, HOST:PORT, or several addresses separated by commas (default: BATON_COORDINATOR, \
      else 127.0.0.1:7420).
      """)
  package var coordinator: String?

  @Option(help: "The host's name in the fleet, unique there (default: the machine's name).")
  package var name: String?

  @Option(help: "The worker's own folder (default: $XDG_STATE_HOME/baton/worker/NAME).")
  package var data: String?

  @Option(help: "How many slots the launches here share (default: the number of cores).")
  package var slots: Int?

  @Option(help: "A worker.yaml with these and more settings.")
  package var config: String?

  @Option(
    help:
      "The file with the coordinator's token (default: BATON_TOKEN_FILE, else what the coordinator left for its user).")
  package var tokenFile: String?

  @Option(help: "Where /healthz and /readyz are served, HOST:PORT on loopback (default: nowhere).")
  package var http: String?

  @Option(help: "Where /metrics is served over TLS, HOST:PORT, on a host that has joined (default: nowhere).")
  package var https: String?

  @Option(help: "How much is logged to standard error: trace, debug, info, notice, warning, error, critical.")
  package var logLevel: String?

  package init() {}

  var flags: WorkerSettings.Flags {
    var flags = WorkerSettings.Flags()
    flags.coordinator = coordinator
    flags.name = name
    flags.data = data
    flags.slots = slots
    flags.tokenFile = tokenFile
    flags.config = config
    return flags
  }
}
