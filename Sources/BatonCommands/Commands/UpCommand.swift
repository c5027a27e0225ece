import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct UpCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "up",
    abstract: "Run a coordinator and a worker in this process, and stay.",
    discussion: """
      This is a fleet with one host, and every other command works with it. Given files are applied when it is ready; \
      for a definition with 'repeat' or 'schedule' this also submits the first request. It runs until SIGTERM or \
      Ctrl-C, lets the running batches finish, and goes on where it stopped when it is started again. It prints the \
      address of the console, which signs one browser in; 'baton console' signs in others.

      Examples:
        baton up
        baton up jobs/ --data DIR
        baton submit com.example.report --wait
      """)

  @Argument(
    help: "YAML files to apply, or folders of them, of which sub-folders are not searched.",
    completion: .file(extensions: ["yaml", "yml"]))
  var files: [String] = []

  @Option(
    help: ArgumentHelp("How many slots launches share. Default: one per core.", valueName: "number"),
    transform: Arguments.positive)
  var slots: Int?

  @Option(
    help: ArgumentHelp(
      "A worker.yaml for what this host lends: conditions, hours, labels (default: BATON_WORKER_CONFIG).",
      valueName: "file"))
  var workerConfig: String?

  @Option(
    help: ArgumentHelp(
      """
      Where the console is served, on loopback, or 'off'. Default: 127.0.0.1:7430, or a free port if it is taken.
      """, valueName: "host:port"))
  var console: String?

  @OptionGroup var flags: CoordinatorFlags

  func run() async throws {
    let console = Console.current
    let environment = console.environment
    let definitions =
      files.isEmpty ? [] : try console.definitions(in: files, directory: .folderOfFile).map(\.definition)
    let options = UpOptions(
      coordinator: flags.options(in: environment), console: self.console, slots: slots, workerSettings: workerConfig)
    try await environment.backend.runUp(options) { api in
      guard !definitions.isEmpty else { return }
      for applied in try await api.apply(definitions) { console.note(applied.line) }
    }
  }
}
