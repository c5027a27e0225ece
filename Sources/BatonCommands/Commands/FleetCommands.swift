import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct DrainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "drain",
    abstract: "Let a host finish its batches and start nothing more there.",
    discussion: """
      Launches that run there expire with the reason 'draining': the current batch may finish, and other hosts resume \
      after its checkpoint. The host stays drained, also over restarts, until 'baton undrain'. With --wait the command \
      returns when nothing runs on the host; Ctrl-C stops the waiting, and the host stays drained.

      Exit status: 0 if the host is drained, 124 if the deadline is over and something still runs there.

      Examples:
        baton drain alpha
        baton drain alpha --wait --deadline 5m && reboot-alpha
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.", completion: .hosts) var host: String
  @Flag(help: "Wait until nothing runs on the host.") var wait = false
  @Option(
    help: ArgumentHelp("With --wait: the longest time to wait, such as 5m. Default: no limit.", valueName: "duration"),
    transform: TimeArgument.duration)
  var deadline: Duration?
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    if deadline != nil, !wait { throw ValidationError("--deadline says how long --wait waits: give both.") }
  }

  func run() async throws {
    let name = HostName(host)
    let console = Console.current
    let running = try await client.connect { api in
      try await api.setDraining(name, true)
      return try await Self.running(on: name, api)
    }
    let what =
      running.isEmpty ? "nothing runs there" : "\(counted(running.count, "request")) may finish a batch there"
    let isAwaited = wait && !running.isEmpty
    if options.output.isTable || !isAwaited {
      console.emit(options, JSONValue(draining: name, running)) { ["\(name.rawValue.onOneLine): draining; \(what)"] }
    }
    guard isAwaited else { return }
    let client = client
    try await racing(
      timeout: deadline, what: "\(name.rawValue.onOneLine) still runs something", interruption: Self.leave
    ) {
      try await client.connect { api in
        while try await !Self.running(on: name, api).isEmpty {
          try await CommandEnvironment.current.sleep(.seconds(1))
        }
      }
    }
    console.emit(options, JSONValue(draining: name, [])) { ["\(name.rawValue.onOneLine): drained"] }
  }

  @Sendable private static func leave() -> String { "the host stays drained" }

  /// The requests that run on the host, at most a page of them.
  private static func running(on name: HostName, _ api: any OperatorAPI) async throws -> [RequestRecord] {
    try await api.requests(RequestFilter(states: [.running], host: name), after: nil, limit: RequestListing.pageSize)
  }
}

struct UndrainCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "undrain",
    abstract: "Let a drained host take launches again.",
    discussion: """
      Examples:
        baton undrain alpha
      """)

  @Argument(help: "The host's name, as 'baton hosts' has it.", completion: .hosts) var host: String
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let name = HostName(host)
    try await client.connect { try await $0.setDraining(name, false) }
    Console.current.emit(options, JSONValue(undrained: name)) {
      ["\(name.rawValue.onOneLine): takes launches again"]
    }
  }
}

struct PauseCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Start nothing more on the whole fleet.",
    discussion: """
      Running launches expire with the reason 'paused' and go on after their checkpoints when the fleet is resumed.

      Examples:
        baton pause
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    try await client.connect { try await $0.setPaused(true) }
    Console.current.emit(options, JSONValue(paused: true)) { ["the fleet is paused; go on with: baton resume"] }
  }
}

struct ResumeCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Let a paused fleet go on.",
    discussion: """
      Examples:
        baton resume
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    try await client.connect { try await $0.setPaused(false) }
    Console.current.emit(options, JSONValue(paused: false)) { ["the fleet takes launches again"] }
  }
}
