import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct RunCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run jobs on this machine to their end; nothing else has to be started.",
    discussion: """
      Every literal identifier in the files is submitted and watched. What the commands write is shown as it comes, on \
      standard output (with -o json on standard error), behind the identifier if there are several; progress goes to \
      standard error. --quiet shows neither. The exit status is 0 only if all succeeded. If the command is killed, run the same files again: it goes on where it \
      stopped, and repeats at most the batch that ran. A request that failed goes on at its checkpoint, under the \
      definition that the file has now. If items or batch size have changed, the run is refused; --anew starts from \
      the beginning. Ctrl-C lets the running batch finish, saves, and ends; the next run goes on. Exit status 4 if \
      this machine can never take a job, because it lacks slots, GPUs or permission; for conditions that can change, \
      such as the power, the command waits.

      The state is kept in $XDG_STATE_HOME/baton/run (default ~/.local/state/baton/run), in a folder that depends on \
      the files' paths, and removed when everything has succeeded. With --data it is kept in that folder; after a \
      success, the next run starts from the beginning as well. A second run of the same files at the same time is \
      refused.

      Examples:
        baton run job.yaml
        baton run jobs/ --slots 4
        baton run job.yaml --quiet
        baton run job.yaml -o json | jq -r '.[].state'
      """)

  @Argument(
    help: "YAML files, or folders of them, of which sub-folders are not searched.",
    completion: .file(extensions: ["yaml", "yml"]))
  var files: [String]

  @Option(help: ArgumentHelp("Keep the state in this folder.", valueName: "dir"), completion: .directory)
  var data: String?

  @Option(
    help: ArgumentHelp("How many slots launches share. Default: one per core.", valueName: "number"),
    transform: Arguments.positive)
  var slots: Int?

  @Flag(help: "Start from the beginning, and cancel unfinished requests of an earlier run.") var anew = false

  @Flag(name: .shortAndLong, help: "Show no progress, and not what the commands write; only warnings and errors.")
  var quiet = false

  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let definitions = try console.definitions(in: files, directory: .folderOfFile).map(\.definition)
    let session = try session(definitions, console)
    let embedding = RunOptions(
      dataFolder: try folder(console.environment), removesDataFolder: data == nil, slots: slots)
    do {
      try await console.environment.backend.runEmbedded(embedding, prepare: session.prepare) { api in
        let end = try await session.run(api)
        conclude(end.records, console)
        try console.judgeRun(end, session.commandLine)
      }
    } catch let error as StoreError where error.code == .locked {
      throw CommandFailure(.unavailable, "these files are being run already. \(error.message)")
    }
  }

  private func folder(_ environment: CommandEnvironment) throws -> String {
    if let data { return StateFolder.absolute(data, in: environment) }
    return try StateFolder.run(of: files, in: environment)
  }

  private func session(_ definitions: [Definition], _ console: Console) throws -> RunSession {
    let display = ProgressDisplay(console, to: .error, isQuiet: quiet)
    let identifiers = try definitions.literals(in: files, console)
    // JSON has standard output for itself. Beside Baton's own messages, a line says whose it is.
    let output = LiveOutput(
      display, to: options.output.isTable ? .output : .error, since: console.environment.now(),
      namesRequests: identifiers.count > 1 || !options.output.isTable)
    return RunSession(
      console: console, display: display, definitions: definitions, identifiers: identifiers,
      marker: RunMarker(dataFolder: try folder(console.environment)), isAnew: anew,
      commandLine: "baton run " + files.joined(separator: " ") + (data.map { " --data \($0)" } ?? ""),
      output: quiet ? nil : output)
  }

  /// Writes the summary of the run: JSON to standard output for scripts; for people a table on standard error, if there
  /// are several requests.
  private func conclude(_ records: [RequestRecord], _ console: Console) {
    if !options.output.isTable { return console.emit(options.output, records, isList: true) }
    guard records.count > 1, !quiet else { return }
    let now = console.environment.now()
    let width = console.environment.isTerminal(.error) ? console.environment.terminalSize()?.columns : nil
    let lines = TablePrinter.lines(
      RequestTable.columns, records.map { RequestTable.row($0, now: now) }, style: console.style(of: .error),
      width: width)
    console.note(lines.joined(separator: "\n"))
  }
}

extension Console {
  /// Says why each request did not succeed, and how to go on.
  /// - Throws: a `CommandFailure` without a message if a request did not succeed: with status `failed` if a request
  ///   failed or was cancelled, with `refused` if the only others can never run on this machine.
  fileprivate func judgeRun(_ end: RunEnd, _ commandLine: String) throws {
    let impossible = Set(end.impossible.map(\.record.id))
    let bad = end.records.filter { $0.state != .succeeded && !impossible.contains($0.id) }
    for record in bad { error("\(record.name) \(record.standing(at: environment.now()))") }
    for explanation in end.impossible { error(explanation.impossibility) }
    if bad.isEmpty, impossible.isEmpty { return }
    note("finished batches are saved; when you have repaired the cause, go on with: \(commandLine)")
    throw CommandFailure(bad.isEmpty ? .refused : .failed)
  }
}
