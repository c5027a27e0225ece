import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct CancelCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancel the live and the waiting request of an identifier, or everything.",
    discussion: """
      A request that waits ends at once. A running launch expires with the reason 'cancelled': its batch may finish, \
      within seconds. If the job repeats, no further request follows until it is submitted or applied again. On a \
      terminal, --all asks for confirmation; a script must give --yes, otherwise the command is refused.

      Examples:
        baton cancel com.example.report
        baton cancel com.example.report --request 3
        baton cancel --all
        baton cancel --all --yes
      """)

  @Argument(help: "The identifier.", transform: Arguments.identifier) var identifier: JobIdentifier?

  @Option(
    help: ArgumentHelp("Only this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @Flag(help: "Every unfinished request.") var all = false
  @Flag(help: "Do not ask before --all.") var yes = false

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if all, identifier != nil || request != nil {
      throw ValidationError("--all cancels everything: name no identifier with it.")
    }
    if yes, !all { throw ValidationError("--yes confirms --all; cancelling one identifier needs no confirmation.") }
    if !all, identifier == nil { throw ValidationError("Name an identifier, or give --all.") }
  }

  func run() async throws {
    let console = Console.current
    let selection = identifier.map { CancelSelection.identifier($0, number: request) } ?? .all
    let user = console.environment.user
    if all, !yes { try await confirm(console) }
    let cancelled = try await client.connect { try await $0.cancel(selection, by: user) }
    console.emit(options.output, list: cancelled.map { JSONValue($0) }) { cancelled.lines }
    if cancelled.isEmpty { try tellNothing(console) }
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
      + (chains.isEmpty ? "" : ", and end \(ends)") + "?"
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

extension JSONValue {
  fileprivate init(_ cancellation: Cancellation) {
    switch cancellation {
    case .ended(_, let identifier, let number):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "cancelled",
        "launch": nil, "host": nil,
      ]
    case .stopping(let launch, let identifier, let number, let host):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "stopping",
        "launch": JSONValue(launch.number), "host": JSONValue(host.rawValue),
      ]
    }
  }
}
