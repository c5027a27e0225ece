import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct CancelCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancel the live and the waiting request of an identifier, several requests, or everything.",
    discussion: """
      A request that waits ends at once. A running launch expires with the reason 'cancelled': its batch may finish, \
      within seconds. That is final: a cancelled request does not go on, and 'baton submit' begins again from the \
      beginning. If the job repeats, its repetition ends too, until it is submitted or applied again. To stop a job for \
      a while, use 'baton drain', 'baton evict' or 'baton pause': it goes on where it stood.

      --flow cancels every unfinished request of a flow, all of them in one transaction or none.

      A pattern, --state, --host, --older-than or --by chooses several unfinished requests, at most 10,000. On a \
      terminal the command then asks for confirmation, as it does for --flow and --all; a script must give --yes, otherwise the \
      command is refused.

      Examples:
        baton cancel com.example.report
        baton cancel com.example.report --request 3 --wait
        baton cancel 'com.example.photos.*' --state pending --dry-run
        baton cancel --host alpha --older-than 2h --yes
        baton cancel --flow 12 --yes
        baton cancel --all
      """)

  @Argument(help: "The identifier, or a pattern.", completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern?

  @Option(
    help: ArgumentHelp("Only this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @Option(
    help: ArgumentHelp(
      "Only requests in this state: \(Self.stateNames.joined(separator: ", ")). May be given several times.",
      valueName: "state"),
    completion: .list(Self.stateNames), transform: Self.states)
  var state: [Set<RequestState>] = []

  @Option(
    help: ArgumentHelp("Every unfinished request of the flow with this number.", valueName: "number"),
    transform: Arguments.positive)
  var flow: Int?

  @Flag(help: "Every unfinished request.") var all = false
  @Flag(help: "Wait until the launches that have to stop have ended.") var wait = false

  @OptionGroup var bulk: BulkOptions
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private static let stateNames = Arguments.stateNames.filter { (try? states($0)) != nil }

  private static func states(_ text: String) throws -> Set<RequestState> {
    let states = try Arguments.states(text)
    if states.contains(where: { !$0.isEnded }) { return states.filter { !$0.isEnded } }
    throw ValidationError("A request that has ended cannot be cancelled.")
  }

  /// Whether requests have to be looked for before they are cancelled.
  private var isBulk: Bool { !all && flow == nil && (bulk.chooses || !state.isEmpty || identifier?.literal == nil) }

  /// Whether the requests are looked for because only that is asked of one identifier.
  private var isRehearsal: Bool { bulk.dryRun && !all }

  func validate() throws {
    if flow != nil, all || identifier != nil || request != nil || bulk.chooses || !state.isEmpty {
      throw ValidationError("--flow cancels a whole flow: choose no requests with it.")
    }
    if all, identifier != nil || request != nil || bulk.chooses || !state.isEmpty {
      throw ValidationError("--all cancels everything: choose no requests with it.")
    }
    if all, bulk.dryRun {
      throw ValidationError("--all --dry-run would show every unfinished request: 'baton list' does that.")
    }
    if !all, flow == nil, identifier == nil, !bulk.chooses, state.isEmpty {
      throw ValidationError("Name an identifier or a pattern, choose requests with an option, or give --flow or --all.")
    }
    if request != nil, isBulk { throw ValidationError("--request needs an identifier, and no other choice.") }
  }

  func run() async throws {
    let console = Console.current
    let user = console.environment.user
    if let flow { return try await cancelFlow(RequestID(Int64(flow)), console, by: user) }
    if isBulk || isRehearsal { return try await cancelSeveral(console, by: user) }
    let selection = identifier?.literal.map { CancelSelection.identifier($0, number: request) } ?? .all
    if all, !bulk.yes { try await confirm(console) }
    let cancelled = try await client.connect { try await $0.cancel(selection, by: user) }
    if cancelled.isEmpty {
      console.emit(options.output, list: []) { [] }
      return try tellNothing(console)
    }
    try await tell(cancelled, console)
  }

  private func cancelFlow(_ flow: RequestID, _ console: Console, by user: String) async throws {
    let change = BulkChange(
      verb: "cancel", filter: RequestFilter(states: Set(RequestState.allCases.filter { !$0.isEnded }), flow: flow),
      options: bulk.choice, number: nil, consequence: "That is final, and ends what repeats.")
    let found = try await client.connect { try await change.find($0) }
    if bulk.dryRun { return rehearse(found, console) }
    try change.confirm(found, console)
    // A flow that is not there is told by the call.
    let cancelled = try await client.connect { try await $0.cancel(.flow(flow), by: user) }
    guard cancelled.isEmpty else { return try await tell(cancelled, console) }
    console.emit(options.output, list: []) { [] }
    throw CommandFailure(
      .notFound,
      "nothing to cancel: the flow \(flow.rawValue) has no unfinished request; look at 'baton list --flow "
        + "\(flow.rawValue)'")
  }

  private func rehearse(_ found: [RequestRecord], _ console: Console) {
    console.emit(options.output, list: found.map { JSONValue($0) }) {
      found.map { "\($0.name): would be cancelled, \($0.state.rawValue)" }
    }
  }

  private func cancelSeveral(_ console: Console, by user: String) async throws {
    let states: Set<RequestState> = state.reduce(into: []) { $0.formUnion($1) }
    let unfinished = Set(RequestState.allCases.filter { !$0.isEnded })
    let change = BulkChange(
      verb: "cancel",
      filter: RequestFilter(
        states: states.isEmpty ? unfinished : states, pattern: identifier, host: bulk.host.map { HostName($0) }),
      options: bulk.choice, number: request, consequence: "That is final, and ends what repeats.")
    let found = try await client.connect { try await change.find($0) }
    if found.isEmpty {
      console.emit(options.output, list: []) { [] }
      if !isBulk { return try tellNothing(console) }
      return console.note("nothing to cancel: no unfinished request matches")
    }
    if bulk.dryRun { return rehearse(found, console) }
    try change.confirm(found, console)
    let cancelled = try await client.connect { api in
      try await change.each(of: found) { record in
        try await api.cancel(.identifier(record.identifier, number: record.number), by: user)
      }
    }
    try await tell(cancelled.flatMap(\.self), console)
  }

  /// Says what was cancelled, and waits for what has to stop if that was asked for.
  private func tell(_ cancelled: [Cancellation], _ console: Console) async throws {
    console.emit(options, list: cancelled.map { JSONValue($0) }) { cancelled.lines }
    if options.output.isTable, !options.quiet { try await tellFinality(cancelled.map(\.name).unique, console) }
    let stopping = cancelled.filter(\.isStopping).map(\.name).unique
    guard wait, !stopping.isEmpty else { return }
    _ = try await client.follow(stopping, display: ProgressDisplay(console, to: .error))
  }

  /// Says on standard error that nothing of this goes on, and how to begin again.
  private func tellFinality(_ names: [RequestName], _ console: Console) async throws {
    let identifiers = names.map(\.identifier).unique
    guard identifiers.count == 1, let identifier = identifiers.first else {
      return console.note(
        "this is final, and ends what repeats; to begin again: baton submit IDENTIFIER, or baton apply FILE")
    }
    let hasEnded = (try? await client.connect { try await Self.repetitionHasEnded(of: identifier, $0) }) ?? false
    console.note(
      "this is final" + (hasEnded ? ", and the repetition has ended with it" : "")
        + "; to begin again: baton submit \(identifier)")
  }

  /// Whether the job repeats, and no request of it waits for its turn any more.
  private static func repetitionHasEnded(of identifier: JobIdentifier, _ api: any OperatorAPI) async throws -> Bool {
    let filter = RequestFilter(pattern: IdentifierPattern(identifier), isNewestFirst: true)
    let last = try await api.requests(filter, after: nil, limit: 2)
    return last.first?.repeats == true && !last.contains { $0.launches == 0 && $0.state.isPending }
  }

  /// Tells the person at the terminal how much would be cancelled, and asks for confirmation.
  /// - Throws: a `CommandFailure` with status `usage` if standard input is no terminal, and with status `failed` if the
  ///   answer is not yes.
  private func confirm(_ console: Console) async throws {
    guard let readAnswer = console.environment.readAnswer else {
      throw CommandFailure(
        .usage,
        "--all cancels every unfinished request and ends every job that repeats: confirm with --yes")
    }
    let extent = try await client.connect { try await CancellationExtent(asking: $0) }
    guard extent.requests > 0 else { return }
    console.write("\(extent.question) [y/N] ", to: .error)
    let answer = readAnswer()?.lowercased() ?? ""
    guard ["y", "yes"].contains(answer) else { throw CommandFailure(.failed, "nothing was cancelled") }
  }

  private func tellNothing(_ console: Console) throws {
    guard let identifier else { return console.note("nothing to cancel: all requests have ended") }
    let what =
      request.map { "request \($0) of '\(identifier)' has ended" } ?? "'\(identifier)' has no unfinished request"
    throw CommandFailure(.notFound, "nothing to cancel: \(what); look at 'baton show \(identifier)'")
  }
}

/// How many requests and repeating jobs `cancel --all` would end.
private struct CancellationExtent: Sendable {
  private static let pageSize = 500

  var requests = 0
  var running = 0
  /// Identifiers with an unfinished request whose definition repeats.
  var chains: Set<JobIdentifier> = []

  init(asking api: any OperatorAPI) async throws {
    let filter = RequestFilter(states: Set(RequestState.allCases.filter { !$0.isEnded }))
    var after: RequestID?
    repeat {
      let page = try await api.requests(filter, after: after, limit: Self.pageSize)
      requests += page.count
      running += page.count { $0.state == .running }
      chains.formUnion(page.filter(\.repeats).map(\.identifier))
      after = page.count == Self.pageSize ? page.last?.id : nil
    } while after != nil
  }

  var question: String {
    let ends = counted(chains.count, "job") + (chains.count == 1 ? " that repeats" : " that repeat")
    return "cancel \(counted(requests, "request"))" + (running > 0 ? " (\(running) of them running)" : "")
      + (chains.isEmpty ? "" : ", and end \(ends)") + "? That is final."
  }
}

extension [Cancellation] {
  /// One line for each request. Of a request with shards, several launches may have to stop.
  fileprivate var lines: [String] {
    let requests = map(\.name).unique
    let byName = Dictionary(grouping: self, by: \.name)
    return requests.compactMap { name in
      guard let all = byName[name], all.count > 1 else { return byName[name]?.first?.line }
      return "\(name): stopping \(all.count) launches"
    }
  }
}

extension Cancellation {
  fileprivate var isStopping: Bool {
    switch self {
    case .ended: false
    case .stopping: true
    }
  }

  fileprivate var name: RequestName {
    switch self {
    case .ended(_, let identifier, let number), .stopping(_, let identifier, let number, _):
      RequestName(identifier: identifier, number: number)
    }
  }

  fileprivate var line: String {
    switch self {
    case .ended(_, let identifier, let number): "\(RequestName(identifier: identifier, number: number)): cancelled"
    case .stopping(let launch, let identifier, let number, let host):
      "\(RequestName(identifier: identifier, number: number)): stopping launch \(launch.number) on "
        + host.rawValue.onOneLine
    }
  }
}
