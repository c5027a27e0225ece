import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct SubmitCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "submit",
    abstract: "Submit a request.",
    discussion: """
      A definition must exist for the identifier or for a pattern that matches it. If a request of the identifier \
      waits already, it is replaced; a running one is not changed. With -f the file is applied first, then every \
      literal identifier in it is submitted. A job with 'repeat' that has no request yet gets its first one when the \
      file is applied; it is not submitted again unless --payload, --earliest or --priority is given.

      Exit status 0 when the coordinator has accepted and stored the request, with a warning if no known host could \
      run it now; 4 if it was refused; 75 if the coordinator accepts nothing now; 77 if the identifier is not defined \
      or not permitted. With --wait, the exit status is that of 'baton wait'; Ctrl-C ends only the waiting.

      With --as-flow the jobs of the file are submitted together as one flow: all of them or none, and each starts when \
      the jobs that its 'after' names have ended. A job that is submitted by itself waits for no other.

      In a command that a worker runs it needs no settings, if 'maySubmit' of the definition names the identifier. A \
      request submits each identifier once then, whatever is interrupted: a launch that goes on gets the first answer.

      Examples:
        baton submit com.example.report
        baton submit com.example.photos.export.42 --payload '{"album": 42}' --wait
        baton submit com.example.report --payload @report.json --earliest 15m
        baton submit com.example.report --earliest 2026-03-01T06:30:00Z
        baton submit com.example.report --priority userInitiated
        baton submit com.example.report --id nightly-2026-03-01
        baton submit -f job.yaml --wait
        baton submit -f flow.yaml --as-flow
        make-job | baton submit -f -
      """)

  @Argument(
    help: "The identifier; a pattern cannot be submitted.", completion: .identifiers,
    transform: Arguments.identifier)
  var identifier: JobIdentifier?

  @Option(
    name: [.customShort("f"), .long],
    help: ArgumentHelp(
      "Apply this file or folder, and submit what it declares; - is standard input.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var file: String?
  @OptionGroup var strictness: StrictOption

  @Flag(help: "Submit the jobs of the file as one flow, in the order that 'after' gives them.") var asFlow = false

  @Option(
    help: ArgumentHelp(
      "With --as-flow: what the '*' of the patterns in the file stands for in this flow.", valueName: "name"))
  var wildcard: String?

  @Option(
    help: ArgumentHelp("Not before: a duration such as 15m, or an RFC 3339 date.", valueName: "when"),
    transform: TimeArgument.earliest)
  var earliest: TimeArgument?

  @Option(
    help: "background, utility or userInitiated. Default: the definition's.",
    completion: .list(Priority.allCases.map(\.name)), transform: Arguments.priority)
  var priority: Priority?

  @Option(
    help: ArgumentHelp(
      "The id of this submission, at most 64 bytes. A submission with an id that the coordinator has seen repeats the "
        + "first answer. Default: a new one.", valueName: "id"), transform: Arguments.submissionID)
  var id: String?

  @OptionGroup var submission: SubmissionOptions

  func validate() throws {
    if id != nil, file != nil {
      throw ValidationError("--id is that of one submission: name an identifier, not a file.")
    }
    if (identifier == nil) == (file == nil) {
      throw ValidationError("Name an identifier, or a file with -f; not both.")
    }
    if asFlow, file == nil { throw ValidationError("--as-flow is about the jobs of a file: name one with -f.") }
    if wildcard != nil, !asFlow { throw ValidationError("--wildcard belongs to --as-flow.") }
    if strictness.isStrict, file == nil {
      throw ValidationError("--strict is about the warnings of a file: name one with -f.")
    }
  }

  func run() async throws {
    let console = Console.current
    if let warning = earliest?.warning { console.warning("--earliest: \(warning)") }
    if let launch = SubmittingFromLaunch(console.environment, submission.client) {
      guard let identifier else {
        throw CommandFailure(.usage, "a launch cannot apply a file, because it may only submit: name an identifier")
      }
      return try await launch.run(order(identifier, console.environment), name: id, submission, console)
    }
    let (identifiers, applied) = try await identifiers(console)
    let orders = identifiers.map { order($0, console.environment) }
    try await submission.submit(
      orders, accepted: isPlain && !asFlow ? applied : [:], asFlow: asFlow, isList: file != nil)
  }

  /// Whether the request is as the definition says.
  private var isPlain: Bool { submission.payload == nil && earliest == nil && priority == nil }

  private func order(_ identifier: JobIdentifier, _ environment: CommandEnvironment) -> SubmissionOrder {
    SubmissionOrder(
      id: id ?? environment.drawSubmissionID(), identifier: identifier, payload: submission.payload,
      earliestBeginDate: earliest?.value, priority: priority, parent: environment.submitterSpan)
  }

  /// The identifier on the command line, or, with `-f`, the literal identifiers of the file, after its definitions have
  /// been applied; and the first requests of repeating definitions, which were submitted with them.
  private func identifiers(
    _ console: Console
  ) async throws -> ([JobIdentifier], submitted: [JobIdentifier: SubmissionReceipt]) {
    guard let file else { return (identifier.map { [$0] } ?? [], [:]) }
    let definitions = try console.definitions(in: [file], isStrict: strictness.isStrict).map(\.definition)
    let identifiers = try asFlow ? definitions.members(wildcard, in: file) : definitions.literals(in: [file], console)
    if !asFlow { try definitions.demandNoOrder(in: file) }
    let applied = try await submission.client.connect { try await $0.apply(definitions) }
    let receipts = applied.compactMap(\.submitted).map { ($0.identifier, $0) }
    return (identifiers, Dictionary(receipts) { first, _ in first })
  }
}

extension [Definition] {
  /// The identifiers of the members of a flow.
  /// - Parameter wildcard: what the `*` of a pattern stands for.
  /// - Throws: a `CommandFailure` with status `usage` if a pattern has no value, or the jobs cannot be put into an
  ///   order.
  fileprivate func members(_ wildcard: String?, in file: String) throws -> [JobIdentifier] {
    let members = try map { definition in
      if let literal = definition.pattern.literal { return FlowPlan.Member(literal, of: definition) }
      guard let wildcard else {
        throw CommandFailure(
          .usage, "\(file): \(definition.pattern) is a pattern: --wildcard NAME says what its '*' stands for")
      }
      guard let name = JobIdentifier(definition.pattern.rawValue.dropLast() + wildcard),
        definition.pattern.matches(name)
      else { throw CommandFailure(.usage, "--wildcard: '\(wildcard)' is not the end of an identifier") }
      return FlowPlan.Member(name, of: definition)
    }
    do throws(FlowProblem) {
      _ = try FlowPlan(members)
    } catch {
      throw CommandFailure(.usage, "\(file): \(error)")
    }
    return members.map(\.identifier)
  }

  /// - Throws: a `CommandFailure` with status `usage` if jobs of the file come after others: all of them would start at
  ///   once.
  fileprivate func demandNoOrder(in file: String) throws {
    guard let one = first(where: { $0.after != nil }), count > 1 else { return }
    throw CommandFailure(
      .usage,
      "\(file): \(one.pattern) comes after other jobs, and would start at once with them: add --as-flow, or 'baton "
        + "apply' the file and submit single identifiers")
  }

  /// The identifiers that can be submitted. For each pattern it writes a note, because a pattern cannot be submitted.
  /// - Throws: a `CommandFailure` with status `usage` if there are only patterns.
  func literals(in files: [String], _ console: Console) throws -> [JobIdentifier] {
    let literals = compactMap(\.pattern.literal)
    let patterns = filter(\.pattern.isWildcard).map(\.pattern.rawValue)
    guard !literals.isEmpty else {
      throw CommandFailure(
        .usage,
        "\(files.joined(separator: ", ")): nothing to submit, because a pattern (\(patterns.joined(separator: ", "))) "
          + "names no request; apply it, then submit an identifier that it matches: baton submit IDENTIFIER")
    }
    for pattern in patterns { console.note("\(pattern) is a pattern: applied, not submitted") }
    return literals
  }
}

extension Console {
  /// Writes requests that have ended, as JSON: a list if `isList`, otherwise one object for each request. In the format
  /// `table` it writes nothing.
  func emit(_ format: OutputFormat, _ records: [RequestRecord], isList: Bool) {
    if isList { return emit(format, list: records.map { JSONValue($0) }) { [] } }
    for record in records { emit(format, JSONValue(record)) { [] } }
  }
}
