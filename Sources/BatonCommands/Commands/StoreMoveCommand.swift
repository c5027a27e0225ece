import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import Synchronization

struct StoreMoveCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "move",
    abstract: "Move the store to PostgreSQL, or back to the data folder, while the coordinator runs.",
    discussion: """
      The coordinator copies its store from one snapshot and compares the copy. Meanwhile it takes no writes: \
      launches go on, and their batches, submissions and other changes wait. Then the store is marked as moved, and \
      no coordinator starts on it any more. The coordinator ends. Started again, also with its old settings, it goes \
      on where the store is now; workers come back within their lease, and no launch is lost. Before a store moves \
      back from PostgreSQL, all coordinators but one have to be stopped.

      Until the store has left its place, Ctrl-C gives the move up, and everything stays as it was. A move that was \
      killed is finished or forgotten by the next start of the coordinator; it can be given once more. There are \
      never two stores on which a coordinator starts.

      With --dry-run the store is copied and compared beside the work, and stays where it is. With --data or \
      --config this command moves the store of stopped coordinators itself, which the settings in DIR, FILE and \
      BATON_STORE name.

      Only the coordinator's own user can move its store. A password must not be in the address: PostgreSQL's client \
      library reads ~/.pgpass of the coordinator's user.

      Exit status: 0 if the store has moved; 4 if it cannot move there, because the target is not empty, another \
      coordinator uses the store, or the database cannot be reached; 69 if no coordinator answers; 75 if the \
      connection to the coordinator was lost, or, with --data, if the database cannot be reached or a coordinator \
      uses the folder.

      Examples:
        baton store move --to postgres://baton@db.example.com/baton --dry-run
        baton store move --to postgres://baton@db.example.com/baton
        baton store move --to /var/lib/baton
        baton store move --to postgres://baton@db/baton --data /var/lib/baton
      """)

  @Option(
    help: ArgumentHelp(
      "Where the store goes: postgres://USER@HOST/DATABASE, or the coordinator's data folder.",
      valueName: "address|dir"),
    completion: .directory)
  var to: String

  @Option(
    help: ArgumentHelp("The data folder of the stopped coordinator, whose store is moved.", valueName: "dir"),
    completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp("The configuration file of the stopped coordinator.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  @Flag(help: "Copy and compare only; the store stays where it is.") var dryRun = false

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  private var isStopped: Bool { data != nil || config != nil }

  func validate() throws {
    if isStopped, client.coordinator != nil || client.fleet != nil {
      throw ValidationError(
        "--data and --config move a store without its coordinator: leave --coordinator and --fleet out.")
    }
  }

  func run() async throws {
    let console = Console.current
    let environment = console.environment
    var place = StorePlace(to)
    if case .folder(let path) = place { place = .folder(StateFolder.absolute(path, in: environment)) }
    let meter = MoveMeter(console)
    let interruption: @Sendable () -> String = { meter.interruption }
    let summary = try await racing(interruption: interruption) { [place] in
      try await isStopped ? move(to: place, environment, meter) : ask(to: place, meter)
    }
    meter.finish()
    console.emit(options.output, JSONValue(summary, isRehearsal: dryRun)) {
      summary.lines(to: place, isRehearsal: dryRun, isStopped: isStopped)
    }
  }

  /// Asks the coordinator that runs.
  private func ask(to place: StorePlace, _ meter: MoveMeter) async throws -> StoreMove.Summary {
    let dryRun = dryRun
    do {
      return try await client.connect { api in
        try await api.moveStore(to: place, isRehearsal: dryRun) { meter.note($0) }
      }
    } catch let error as CoordinatorUnreachable where !error.isNotPermitted {
      throw meter.lostConnection(error.message.onOneLine)
    }
  }

  /// Moves the store of stopped coordinators.
  private func move(
    to place: StorePlace, _ environment: CommandEnvironment, _ meter: MoveMeter
  ) async throws -> StoreMove.Summary {
    var coordinator = CoordinatorOptions()
    coordinator.dataFolder = data.map { StateFolder.absolute($0, in: environment) }
    coordinator.configurationFile = config.map { StateFolder.absolute($0, in: environment) }
    var move = StoreMove.Options()
    move.isRehearsal = dryRun
    move.report = { meter.note($0) }
    return try await environment.backend.moveStore(coordinator, to: place, move)
  }
}

/// Shows the progress of a move on standard error: on a terminal a line that is redrawn, elsewhere a line for each
/// quarter; and a line for each step that matters to a person.
final class MoveMeter: Sendable {
  private let console: Console
  private let isTerminal: Bool
  private struct Shown {
    var reached: StoreMove.Step?
    var share = -1
  }
  private let shown = Mutex(Shown())

  init(_ console: Console) {
    self.console = console
    isTerminal = console.environment.isTerminal(.error) && console.environment.variables["TERM"] != "dumb"
  }

  /// Whether the coordinator has said that the store has left its old place.
  var hasLeft: Bool { shown.withLock { [.left, .live].contains($0.reached) } }

  /// What a person is told who has pressed Ctrl-C.
  var interruption: String {
    hasLeft
      ? "interrupted after the store had left its old place: the move goes on to its end"
      : "interrupted: the move is given up, and the store stays, unless the coordinator says in its log that it has "
        + "moved"
  }

  /// What a person is told when the coordinator is out of reach.
  func lostConnection(_ why: String) -> CommandFailure {
    if hasLeft {
      return CommandFailure(
        .unavailable,
        "the store has left its old place, and then the connection to the coordinator was lost; the coordinator "
          + "finishes the move when it starts")
    }
    if shown.withLock({ $0.share >= 0 || $0.reached != nil }) {
      return CommandFailure(
        .unavailable,
        "the connection to the coordinator was lost during the move: the coordinator says when it starts if the store "
          + "has moved, and otherwise the store is where it was")
    }
    return CommandFailure(
      .unreachable, "\(why); the store of a stopped coordinator is moved with --data, its data folder")
  }

  func note(_ progress: StoreMove.Progress) {
    let (steps, share) = shown.withLock { shown in
      // Not every report arrives. The steps come in their order, so that none is left out.
      let (before, now) = (shown.reached.order, progress.reached.order)
      let steps = before < now ? Array(StoreMove.Step.allCases[before..<now]) : []
      if now > before { shown = Shown(reached: progress.reached) }
      let share =
        now < before ? nil : progress.share(ofEach: isTerminal ? 1 : 25).flatMap { $0 > shown.share ? $0 : nil }
      shown.share = max(shown.share, share ?? shown.share)
      return (steps, share)
    }
    for line in steps.compactMap(\.line) { tell(line) }
    guard let share, isTerminal || share > 0 else { return }
    let text = "\(share) % \(progress.reached == nil ? "copied" : "compared")"
    console.write(isTerminal ? "\u{1B}[G\u{1B}[K\(text)" : text + "\n", to: .error)
  }

  private func tell(_ line: String) { console.write((isTerminal ? "\u{1B}[G\u{1B}[K" : "") + line + "\n", to: .error) }

  /// Erases the line on a terminal.
  func finish() { if isTerminal { console.write("\u{1B}[G\u{1B}[K", to: .error) } }
}

extension StoreMove.Step? {
  /// How many steps were done.
  fileprivate var order: Int { flatMap { StoreMove.Step.allCases.firstIndex(of: $0) }.map { $0 + 1 } ?? 0 }
}

extension StoreMove.Progress {
  /// How many per cent of the rows are copied or compared, in steps of so many; `nil` if neither is under way.
  fileprivate func share(ofEach step: Int) -> Int? {
    guard totalRows > 0, reached == nil || reached == .copied else { return nil }
    return min(rows, totalRows) * 100 / totalRows / step * step
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
  fileprivate func lines(to place: StorePlace, isRehearsal: Bool, isStopped: Bool) -> [String] {
    if isRehearsal {
      return ["\(rows) rows (\(requests) requests) were copied and compared; the store stays where it is"]
    }
    let what = wasFinished ? "the interrupted move is finished" : "moved \(rows) rows (\(requests) requests)"
    // The address has no password, or it was refused.
    let setting =
      switch place {
      case .postgres(let address): "'store: \(address.onOneLine)' in coordinator.yaml (or BATON_STORE)"
      case .folder: "'store: sqlite' in coordinator.yaml (or without BATON_STORE)"
      }
    if !isStopped {
      return [what, "the coordinator ends now, and goes on there when it is started again; write \(setting)"]
    }
    guard case .folder(let folder) = place else { return [what, "start the coordinator with \(setting)"] }
    return [what, "start the coordinator with \(setting), and with --data \(folder.onOneLine)"]
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
