import ArgumentParser

/// The flags of a coordinator, for `baton coordinator` and `baton up`. A flag that is not given is left to the
/// environment, the configuration file and the default.
struct CoordinatorFlags: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp("Folder of the store, on a local disk.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp(
      "Where workers of hosts that have joined connect, over TLS, such as 0.0.0.0:7420. Default: 127.0.0.1:7420.",
      valueName: "host:port"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Where /healthz and /readyz are served, unencrypted; loopback only. Default: 127.0.0.1:7421.",
      valueName: "host:port"))
  var http: String?

  @Option(
    help: ArgumentHelp(
      "Where the HTTP API, /metrics and the console are served, over TLS, such as 0.0.0.0:7423. Default: off.",
      valueName: "host:port"))
  var https: String?

  @Option(
    help: ArgumentHelp(
      "Where operators with a credential connect and hosts join, over TLS, such as 0.0.0.0:7422. Default: off.",
      valueName: "host:port"))
  var operators: String?

  @Option(
    help: ArgumentHelp(
      "How long a worker keeps its launches without contact to the coordinator (the lease). Default: 15s.",
      valueName: "duration"),
    transform: TimeArgument.duration)
  var lease: Duration?

  @Option(
    help: ArgumentHelp("A configuration file.", valueName: "file"), completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  func validate() throws {
    if let lease, lease < .milliseconds(500) { throw ValidationError("--lease must be 500ms or longer.") }
  }

  func options(in environment: CommandEnvironment) -> CoordinatorOptions {
    CoordinatorOptions(
      dataFolder: data.map { StateFolder.absolute($0, in: environment) }, listen: listen, http: http, https: https,
      operators: operators, leaseTerm: lease,
      configurationFile: config.map { StateFolder.absolute($0, in: environment) })
  }
}

struct CoordinatorCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "coordinator",
    abstract: "Run the coordinator of a fleet.",
    discussion: """
      It runs until SIGTERM or Ctrl-C; running batches go on while it restarts. Commands and workers of the same user \
      reach it through a Unix socket, which is named after the port of --listen. All others speak TLS: with \
      --operators, 'baton host invite' lets a host join, and 'baton credential create' lets a person in.

      Examples:
        baton coordinator --data /var/lib/baton
        baton coordinator --data DIR --listen 127.0.0.1:7430 --lease 5s
        baton coordinator --listen 0.0.0.0:7420 --operators 0.0.0.0:7422
      """)

  @OptionGroup var flags: CoordinatorFlags

  func run() async throws {
    let environment = CommandEnvironment.current
    try await environment.backend.runCoordinator(flags.options(in: environment))
  }
}
