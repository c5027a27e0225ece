import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct HostsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "hosts",
    abstract: "Show the hosts of the fleet, or one with all its conditions.",
    discussion: """
      With a name, it shows every condition with its source and the raw reading. A condition that could not be \
      determined is shown as unknown. With a pattern, in which * stands for any characters, or with options, it lists \
      the hosts for which all of them hold; --summary only counts them.

      --history shows how the conditions of a host have changed, and what ran on it: launches that run, and those that \
      took a second or more. Changes are kept for 7 days (retention.conditions), at most 2,000 of a host.

      A name belongs to the worker that used it first; the worker proves this with a secret in its data folder. \
      --forget releases the name of a host whose secret is lost; 'baton host forget' forgets a host that is gone.

      Examples:
        baton hosts
        baton hosts alpha
        baton hosts alpha --history --since 2h
        baton hosts 'lab-*' --state ready --condition onBattery
        baton hosts --label site=home --label gpu --limit 20
        baton hosts --summary -o json | jq .states
        baton hosts --forget alpha    # installed again: take its next worker
        baton hosts -o json | jq -r '.[] | select(.state == "ready") | .name'
      """)

  @Argument(help: "One host, or a pattern such as 'lab-*'.", completion: .hosts) var name: String?

  @Option(
    help: ArgumentHelp(
      "Only hosts in this state: \(Self.states.joined(separator: ", ")). May be given several times.",
      valueName: "state"), completion: .list(Self.states), transform: Self.state)
  var state: [HostReport.State] = []

  @Option(
    help: ArgumentHelp(
      "Only hosts with this label, NAME=VALUE or NAME. May be given several times.", valueName: "label"),
    transform: Self.label)
  var label: [HostFilter.Label] = []

  @Option(
    help: ArgumentHelp(
      "Only hosts with this condition: \(Self.conditions.joined(separator: ", ")). May be given several times.",
      valueName: "condition"), completion: .list(Self.conditions), transform: Self.condition)
  var condition: [HostFilter.Condition] = []

  @Option(
    help: ArgumentHelp("List at most this many hosts. Default: all.", valueName: "number"),
    transform: Arguments.positive)
  var limit: Int?

  @Flag(help: "Only count the hosts, by state and condition.") var summary = false
  @Flag(help: "Show how the conditions of the host have changed, and what ran on it.") var history = false

  @Option(
    help: ArgumentHelp(
      "The beginning of the history: a duration up to now, or a date. Default: 24h.", valueName: "time"),
    transform: TimeArgument.since)
  var since: Timestamp?

  @Option(help: ArgumentHelp("Release the name of a host, for a worker with another secret.", valueName: "host"))
  var forget: String?
  @OptionGroup var ui: ConsoleOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  private static let states = HostReport.State.allCases.map(\.rawValue)
  private static let conditions = HostFilter.Condition.allCases.map(\.rawValue)

  private static func state(_ text: String) throws -> HostReport.State {
    if let state = HostReport.State(rawValue: text) { return state }
    throw ValidationError("It must be one of \(states.joined(separator: ", ")).")
  }

  private static func condition(_ text: String) throws -> HostFilter.Condition {
    if let condition = HostFilter.Condition(rawValue: text) { return condition }
    throw ValidationError("It must be one of \(conditions.joined(separator: ", ")).")
  }

  private static func label(_ text: String) throws -> HostFilter.Label {
    if let label = HostFilter.Label(text) { return label }
    throw ValidationError("It must be NAME=VALUE or NAME.")
  }

  /// Whether options choose hosts.
  private var chooses: Bool { !state.isEmpty || !label.isEmpty || !condition.isEmpty }
  private var isPattern: Bool { name?.contains("*") ?? false }

  func validate() throws {
    guard forget == nil || name == nil && !chooses && !summary && !history && limit == nil else {
      throw ValidationError("--forget HOST shows nothing: leave everything else out.")
    }
    if history, name == nil || isPattern || chooses || summary || limit != nil {
      throw ValidationError("--history is that of one host: name it, and leave out what chooses hosts.")
    }
    if since != nil, !history { throw ValidationError("--since is the beginning of --history.") }
    if summary, limit != nil { throw ValidationError("--summary counts all hosts: leave out --limit.") }
  }

  func run() async throws {
    if try await ui.open(["hosts", isPattern ? nil : name], client) { return }
    let console = Console.current
    if let forget {
      let host = HostName(forget)
      try await client.connect { try await $0.forget(host) }
      return console.output("\(forget.onOneLine): released; the next worker of that name is taken")
    }
    if let name, history { return try await writeHistory(of: HostName(name), console) }
    if let name, !isPattern, !chooses, !summary, limit == nil { return try await writeOne(HostName(name), console) }
    if let name, PrincipalPattern(name) == nil { throw Self.unknown(HostName(name), nil) }
    let filter = HostFilter(
      pattern: name.flatMap(PrincipalPattern.init), states: Set(state), labels: label, conditions: Set(condition))
    let limit = summary ? 1 : limit
    let (hosts, found) = try await client.connect { try await Self.all(filter, limit: limit, $0) }
    if summary { return console.emit(options.output, JSONValue(found)) { [found.text] } }
    console.emit(options.output, list: hosts.map { JSONValue($0) }) {
      if hosts.isEmpty, chooses || isPattern { console.note("no host matches") }
      if hosts.isEmpty, chooses || isPattern { return [] }
      return hostTable(hosts, console)
    }
    if options.output == .table, found.total > 1 { console.note(found.text) }
  }

  /// The hosts that match, page by page.
  static func all(
    _ filter: HostFilter, limit: Int?, _ api: any OperatorAPI
  ) async throws -> (hosts: [HostReport], summary: HostSummary) {
    var (hosts, summary): ([HostReport], HostSummary?) = ([], nil)
    while true {
      let wanted = min(limit.map { $0 - hosts.count } ?? Coordinator.mostHosts, Coordinator.mostHosts)
      let page = try await api.hosts(filter, after: hosts.last?.name, limit: wanted)
      hosts += page.hosts
      summary = summary ?? page.summary
      let isDone = !page.hasMore || page.hosts.isEmpty || limit.map { hosts.count >= $0 } ?? false
      if isDone { return (hosts, summary ?? HostSummary(hosts)) }
    }
  }

  private func writeOne(_ name: HostName, _ console: Console) async throws {
    let (host, known) = try await client.connect { api in
      let filter = HostFilter(name: name)
      // No host has a name that is no pattern.
      let found = filter.pattern == nil ? nil : try await api.hosts(filter, after: nil, limit: 1).hosts.first
      return (found, found == nil ? try await api.hosts(HostFilter(), after: nil, limit: Self.named + 1) : nil)
    }
    guard let host else { throw Self.unknown(name, known) }
    console.emit(options.output, JSONValue(host)) { hostBlock(host, console) }
  }

  private func writeHistory(of name: HostName, _ console: Console) async throws {
    let since = since ?? console.environment.now() + .seconds(-86_400)
    let history = try await client.connect {
      try await $0.history(of: name, since: since, limit: ConditionChange.most)
    }
    console.emit(options.output, JSONValue(history, of: name)) { historyText(history, of: name, since, console) }
  }

  /// How many hosts are named where there is no such host.
  private static let named = 10

  private static func unknown(_ name: HostName, _ page: HostPage?) -> CommandFailure {
    let names = page?.hosts.map(\.name.rawValue) ?? []
    let more = (page?.summary?.total ?? names.count) - min(names.count, named)
    let known =
      names.isEmpty
      ? "no host has connected yet"
      : "known: " + names.prefix(named).joined(separator: ", ").onOneLine + (more > 0 ? " and \(more) more" : "")
    return CommandFailure(.notFound, "there is no host '\(name.rawValue.onOneLine)'; \(known)")
  }
}

extension HostSummary {
  /// The hosts in one line: `3 hosts: 2 ready, 1 gone; 3 of 8 slots in use; 1 onBattery`.
  var text: String {
    let states = HostReport.State.allCases.compactMap { state in self.states[state].map { "\($0) \(state.rawValue)" } }
    let conditions = HostFilter.Condition.allCases.compactMap { condition in
      self.conditions[condition].map { "\($0) \(condition.rawValue)" }
    }
    return counted(total, "host") + (states.isEmpty ? "" : ": " + states.joined(separator: ", "))
      + "; \(usedSlots) of \(slots) slots in use"
      + (conditions.isEmpty ? "" : "; " + conditions.joined(separator: ", "))
  }
}
