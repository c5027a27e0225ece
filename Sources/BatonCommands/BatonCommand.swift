package import ArgumentParser
import BatonJSON
import BatonModel
import BatonSettings

/// `baton`, the operator's command: the root of all subcommands. `execute(_:in:)` runs it.
package struct BatonCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "baton",
    abstract: "Run long work on machines that have other things to do, and never lose more than one batch.",
    discussion: """
      Jobs are declared in YAML. A coordinator assigns them to workers (baton-worker, one on each host), which process \
      them in small batches and save a checkpoint after each.

      On this machine alone, with nothing else to start:
        baton run job.yaml
      With a coordinator:
        baton coordinator --data DIR
        baton-worker --name NAME --data DIR
        baton submit -f job.yaml --wait
      Completions in your shell (bash, zsh or fish):
        source <(baton completion bash)

      Every command takes --color auto, always or never; auto colours on a terminal, unless NO_COLOR is set.

      Exit status: 0 done or accepted; 1 failed or cancelled; 2 waiting (explain), or something would change (plan); 3 not found; 4 refused; \
      64 usage; 65 bad YAML; 69 coordinator unreachable; 75 unavailable; 77 not permitted; 78 the store has to be \
      mended first; 124 wait timed out; 130 interrupted.

      Environment: BATON_COORDINATOR (HOST:PORT), BATON_FLEET (a fleet that you logged in to), BATON_TOKEN_FILE (a \
      token file, in place of the one that the coordinator published for you), NO_COLOR, XDG_CONFIG_HOME, \
      XDG_STATE_HOME.
      """,
    version: "baton \(BatonVersion.current)",
    groupedSubcommands: [
      CommandGroup(
        name: "On this machine", subcommands: [RunCommand.self, UpCommand.self, CoordinatorCommand.self]),
      CommandGroup(
        name: "Definitions",
        subcommands: [
          ValidateCommand.self, PlanCommand.self, ApplyCommand.self, DefinitionsCommand.self, RevertCommand.self,
          RemoveCommand.self, SchemaCommand.self,
        ]),
      CommandGroup(
        name: "Requests",
        subcommands: [
          SubmitCommand.self, StartCommand.self, PokeCommand.self, ListCommand.self, ShowCommand.self,
          WatchCommand.self,
          WaitCommand.self, LogsCommand.self, ExplainCommand.self, TraceCommand.self, CancelCommand.self,
          RetryCommand.self, SetCommand.self, LimitsCommand.self, QueueCommand.self, SchedulesCommand.self,
          PruneCommand.self,
        ]),
      CommandGroup(
        name: "Fleet",
        subcommands: [
          StatusCommand.self, ConsoleCommand.self, CoordinatorsCommand.self, NamespacesCommand.self,
          TransfersCommand.self, NotificationsCommand.self, NotifyCommand.self, HostsCommand.self, HostCommand.self,
          FleetCommand.self,
          DrainCommand.self,
          UndrainCommand.self,
          EvictCommand.self, PauseCommand.self, ResumeCommand.self, StoreCommand.self, SimulateCommand.self,
          DoctorCommand.self,
        ]),
      CommandGroup(name: "In your shell", subcommands: [CompletionCommand.self, CompleteCommand.self]),
      CommandGroup(
        name: "People",
        subcommands: [
          LoginCommand.self, LogoutCommand.self, WhoAmICommand.self, CredentialCommand.self, AuditCommand.self,
        ]),
    ])

  package init() {}

  /// Parses the arguments, runs the command, and writes what went wrong to standard error.
  /// - Parameter arguments: the arguments of the process, without the name of the program.
  /// - Returns: the exit status of the process.
  package static func execute(_ arguments: [String], in environment: CommandEnvironment) async -> Int32 {
    let (arguments, colour) = ColourOption.split(arguments)
    var environment = environment
    if case .some(.some(let colour)) = colour { environment.colour = colour }
    return await CommandEnvironment.$injected.withValue(environment) { [environment] in
      do {
        if case .some(.none) = colour { throw CommandFailure(.usage, ColourOption.mistake) }
        if let unknown = UnknownCommand.found(in: arguments, of: Self.self) {
          throw CommandFailure(.usage, unknown.message)
        }
        try await run(parseAsRoot(arguments))
        return ExitStatus.done.rawValue
      } catch {
        return tell(error, of: arguments, on: Console(environment: environment))
      }
    }
  }

  private static func run(_ command: any ParsableCommand) async throws {
    var command = command
    if var command = command as? any AsyncParsableCommand {
      try await command.run()
    } else {
      try command.run()
    }
  }

  /// The help text with the title of each command group as it was declared: ArgumentParser writes
  /// `DEFINITIONS SUBCOMMANDS:` for the group "Definitions".
  private static func help(_ text: String) -> String {
    text.replacing(/(?m)^([A-Z ]+) SUBCOMMANDS:$/) { "\($0.1):" }
  }

  /// Writes what ended the command, and returns the exit status. Help and version go to standard output; errors go to
  /// standard error, mistakes in the arguments together with the usage.
  private static func tell(_ error: any Error, of arguments: [String], on console: Console) -> Int32 {
    let columns = console.environment.terminalSize()?.columns ?? 80
    switch exitCode(for: error) {
    case .success:
      console.output(help(fullMessage(for: error, columns: columns)))
      return ExitStatus.done.rawValue
    case .validationFailure:
      if let unknown = UnknownOption.found(in: arguments, of: Self.self) {
        console.error(unknown.message)
        return ExitStatus.usage.rawValue
      }
      // The message quotes arguments, and a script may have composed them of the names of jobs or hosts.
      let message = arguments.filter { $0 != $0.onOneLine }.reduce(fullMessage(for: error, columns: columns)) {
        $0.replacing($1, with: $1.onOneLine)
      }
      console.note(message.onItsLines)
      return ExitStatus.usage.rawValue
    default:
      let failure = CommandFailure(error)
      if !failure.message.isEmpty {
        failure.status == .interrupted ? console.note(failure.message.onItsLines) : console.error(failure.message)
      }
      return failure.status.rawValue
    }
  }
}
