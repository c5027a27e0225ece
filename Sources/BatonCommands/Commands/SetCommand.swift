import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct SetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a request while it waits or runs, several requests that wait, or the limit of a key.",
    discussion: """
      priority=WORD, one of background, utility and userInitiated, gives a request that waits another priority. A \
      pattern, --host, --older-than or --by chooses several waiting requests, at most 10,000; on a terminal the command \
      then asks for confirmation, and a script must give --yes.

      spread=N sets how many shards of the request may be in work at once. Its definition must say 'work.spread'. If \
      the number rises, free hosts take shards at once, and running shards are split if none wait. If it falls, the \
      shards that are too many stop after their batch, with the reason 'laneLost', and wait for a lane. The number \
      holds for this request only.

      --key KEY changes the limits that all requests with the key share, whichever definitions they have. concurrency=N \
      sets how many launches run at once, and rate=N/TIME, such as 100/1m or 100/1m,burst=20, how many start in a \
      time; both hold until concurrency=default or rate=default leaves the limit to the definitions again. Launches \
      that run go on. 'baton limits' shows the keys.

      Examples:
        baton set com.example.sums spread=8
        baton set com.example.sums --request 3 spread=1
        baton set com.example.report priority=userInitiated
        baton set 'com.example.photos.*' priority=utility --older-than 2h --dry-run
        baton set --key customer/acme concurrency=5
        baton set --key api/example rate=100/1m,burst=20
        baton set --key api/example rate=default
      """)

  @Argument(
    help: ArgumentHelp("The identifier, or a pattern; left out with --key.", valueName: "identifier"),
    completion: .patterns)
  var first: String

  @Argument(
    help: ArgumentHelp("What to change, and its value.", valueName: "setting=value"),
    completion: .list(["spread=", "concurrency=", "rate="] + Priority.allCases.map { "priority=\($0.name)" }))
  var rest: [String] = []

  @Option(help: ArgumentHelp("The key whose limit is set, as it is for requests.", valueName: "key"))
  var key: String?

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @OptionGroup var bulk: BulkOptions
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  private enum Setting {
    case spread(Int)
    case priority(Priority)
  }

  private var identifier: IdentifierPattern {
    get throws { try Arguments.pattern(first) }
  }
  private var settings: [String] { key == nil ? rest : [first] + rest }
  private var isBulk: Bool { get throws { try bulk.chooses || identifier.literal == nil } }

  func validate() throws {
    if let key {
      _ = try limit(of: key)
      guard request == nil, !bulk.chooses, !bulk.dryRun else {
        throw ValidationError("--key names no request, so it goes with no choice of requests.")
      }
      return
    }
    let (setting, isBulk) = (try setting(), try isBulk)
    if isBulk, case .spread = setting {
      throw ValidationError("spread is set for one request: name an identifier, and choose no others.")
    }
    if isBulk, request != nil { throw ValidationError("--request needs an identifier, and no other choice.") }
  }

  func run() async throws {
    if let key {
      let (key, setting) = try limit(of: key)
      let record = try await client.connect { try await $0.setLimit(key, setting) }
      return Console.current.emit(options, JSONValue(record)) { [record.line] }
    }
    let identifier = try identifier
    switch (try setting(), try isBulk ? nil : identifier.literal) {
    case (.spread(let lanes), let identifier?) where bulk.dryRun:
      try await client.foresee(
        identifier, request, options, where: { !$0.state.isEnded },
        foreseen: { "spread would be \(lanes)" + ($0.shards.map { ", is \($0.lanes)" } ?? "") })
    case (.priority(let priority), let identifier?) where bulk.dryRun:
      try await client.foresee(identifier, request, options, where: \.state.isPending) {
        Self.foreseen($0, priority)
      }
    case (.spread(let lanes), let identifier?):
      let number = request
      let record = try await client.connect { try await $0.setSpread(identifier, number: number, lanes: lanes) }
      Console.current.emit(options, JSONValue(record)) {
        ["\(record.name): spread \(lanes)" + (record.shards.map { "; \($0.text)" } ?? "")]
      }
    case (.priority(let priority), let identifier?):
      let number = request
      let record = try await client.connect { try await $0.setPriority(identifier, number: number, priority) }
      Console.current.emit(options, JSONValue(record)) { [Self.line(record)] }
    case (.priority(let priority), nil): try await setSeveral(priority)
    case (.spread, nil): preconditionFailure("spread was not refused for several requests")
    }
  }

  /// The limit of `--key`; `nil` if the definitions say it again.
  private func limit(of text: String) throws -> (LimitKey, LimitSetting?) {
    guard settings.count == 1, let equals = settings[0].firstIndex(of: "=") else {
      throw ValidationError("Write one limit, such as concurrency=5 or rate=100/1m.")
    }
    let (name, value) = (settings[0][..<equals], settings[0][settings[0].index(after: equals)...])
    guard let kind = LimitKind(rawValue: String(name)) else {
      throw ValidationError("'\(name)' is no limit of a key. What can be set: concurrency, rate.")
    }
    let key = LimitKey(kind, text)
    if let problem = key.problem { throw ValidationError("The key \(problem).") }
    if value == "default" { return (key, nil) }
    guard let setting = LimitSetting(kind, String(value)) else {
      throw ValidationError(
        kind == .concurrency
          ? "concurrency must be a whole number, such as 5, or default."
          : "rate must be a number and a time, such as 100/1m or 100/1m,burst=20, or default.")
    }
    if let problem = setting.problem { throw ValidationError("\(kind.rawValue): \(problem).") }
    return (key, setting)
  }

  private func setSeveral(_ priority: Priority) async throws {
    let identifier = try identifier
    let change = BulkChange(
      verb: "set the priority of",
      filter: RequestFilter(states: [.scheduled, .ready], pattern: identifier, host: bulk.host.map { HostName($0) }),
      options: bulk.choice)
    try await change.carryOut(
      client, options, nothing: "nothing to set: no waiting request matches",
      foreseen: { Self.foreseen($0, priority) }, json: { JSONValue($0) },
      line: Self.line,
      change: { api, record in try await api.setPriority(record.identifier, number: record.number, priority) })
  }

  private static func foreseen(_ record: RequestRecord, _ priority: Priority) -> String {
    "priority would be \(priority.name), is \(record.priority.name)"
  }

  private static func line(_ record: RequestRecord) -> String { "\(record.name): priority \(record.priority.name)" }

  /// The only setting.
  private func setting() throws -> Setting {
    guard settings.count == 1, let setting = settings.first, let equals = setting.firstIndex(of: "=") else {
      throw ValidationError("Write one setting, such as spread=8 or priority=utility.")
    }
    let value = String(setting[setting.index(after: equals)...])
    switch setting[..<equals] {
    case "spread":
      let bounds = Definition.Limits.spread
      guard let lanes = Int(value), bounds.contains(lanes) else {
        throw ValidationError("spread must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound).")
      }
      return .spread(lanes)
    case "priority":
      guard let priority = Priority(name: value) else {
        throw ValidationError("priority must be one of \(Priority.allCases.map(\.name).joined(separator: ", ")).")
      }
      return .priority(priority)
    default:
      throw ValidationError("'\(setting[..<equals])' cannot be set. What can be set: priority, spread.")
    }
  }
}
