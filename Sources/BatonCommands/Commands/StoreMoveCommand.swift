import ArgumentParser
import BatonModel
import BatonStore

struct StoreMoveCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move the store of stopped coordinators to PostgreSQL, or back to a folder.",
    discussion: """
      Stop every coordinator first; workers go on within their lease. The store is the one that the settings name: \
      --data, coordinator.yaml, BATON_STORE. It is copied from one snapshot and compared with the copy. Then it is \
      marked as moved, and no coordinator starts on it any more. If the command is interrupted, give it once more: it \
      finishes the move, or begins again. There are never two stores on which a coordinator starts.

      With --dry-run the store is copied and compared, and stays where it is.

      A password must not be in the address: PostgreSQL's client library reads ~/.pgpass.

      Exit status: 0 if the store has moved; 4 if the target is not empty, or a coordinator uses the store; 75 if a \
      coordinator uses the folder, or the server cannot be reached.

      Examples:
        baton store move --to postgres://baton@db.example.com/baton --data /var/lib/baton
        BATON_STORE=postgres://baton@db.example.com/baton baton store move --to /var/lib/baton
      """)

  @Option(
    help: ArgumentHelp(
      "Where the store goes: postgres://USER@HOST/DATABASE, or a folder.", valueName: "address|dir"),
    completion: .directory)
  var to: String

  @Option(
    help: ArgumentHelp("The data folder of the stopped coordinator.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp("The coordinator's configuration file.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  @Flag(help: "Copy and compare only; the store stays where it is.") var dryRun = false

  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let environment = console.environment
    let isDatabase = to.hasPrefix("postgres://") || to.hasPrefix("postgresql://")
    let target: MoveTarget = isDatabase ? .postgres(to) : .folder(StateFolder.absolute(to, in: environment))
    var coordinator = CoordinatorOptions()
    coordinator.dataFolder = data.map { StateFolder.absolute($0, in: environment) }
    coordinator.configurationFile = config.map { StateFolder.absolute($0, in: environment) }
    var move = StoreMove.Options()
    move.isRehearsal = dryRun
    move.copied = { table, rows in if rows > 0 { console.note("\(table): \(rows) rows copied") } }
    move.reached = { step in if let line = step.line { console.note(line) } }
    let summary = try await environment.backend.moveStore(coordinator, to: target, move)
    console.emit(options.output, JSONValue(summary, isRehearsal: dryRun)) {
      summary.lines(to: target, isRehearsal: dryRun)
    }
  }
}

extension StoreMove.Step {
  /// What a person is told when the step is done.
  fileprivate var line: String? {
    switch self {
    case .copied: "all rows are copied; comparing"
    case .verified: "the copy is the same"
    case .arrived: nil
    case .left: "the store has left its old place"
    case .live: nil
    }
  }
}

extension StoreMove.Summary {
  fileprivate func lines(to target: MoveTarget, isRehearsal: Bool) -> [String] {
    if isRehearsal {
      return ["\(rows) rows (\(requests) requests) were copied and compared; the store stays where it is"]
    }
    let what =
      wasFinished ? "the interrupted move is finished" : "moved \(rows) rows (\(requests) requests)"
    // The address has no password, or it was refused.
    return switch target {
    case .postgres(let address):
      [what, "start the coordinator with 'store: \(address.onOneLine)' in coordinator.yaml (or BATON_STORE)"]
    case .folder(let folder):
      [what, "start the coordinator without 'store' (or BATON_STORE), with --data \(folder.onOneLine)"]
    }
  }
}

extension JSONValue {
  fileprivate init(_ summary: StoreMove.Summary, isRehearsal: Bool) {
    self = [
      "rows": JSONValue(summary.rows), "requests": JSONValue(summary.requests),
      "finished": .bool(summary.wasFinished), "moved": .bool(!isRehearsal),
    ]
  }
}
