import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

struct SetCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a request while it waits or runs, or several requests that wait.",
    discussion: """
      priority=WORD, one of background, utility and userInitiated, gives a request that waits another priority. A \
      pattern, --host, --older-than or --by chooses several waiting requests, at most 10,000; on a terminal the command \
      then asks for confirmation, and a script must give --yes.

      spread=N sets how many shards of the request may be in work at once. Its definition must say 'work.spread'. If \
      the number rises, free hosts take shards at once, and running shards are split if none wait. If it falls, the \
      shards that are too many stop after their batch, with the reason 'laneLost', and wait for a lane. The number \
      holds for this request only.

      Examples:
        baton set com.example.sums spread=8
        baton set com.example.sums --request 3 spread=1
        baton set com.example.report priority=userInitiated
        baton set 'com.example.photos.*' priority=background --older-than 2h --dry-run
      """)

  @Argument(help: "The identifier, or a pattern.", completion: .patterns, transform: Arguments.pattern)
  var identifier: IdentifierPattern

  @Argument(
    help: ArgumentHelp("What to change, and its value.", valueName: "setting=value"),
    completion: .list(["spread="] + Priority.allCases.map { "priority=\($0.name)" }))
  var settings: [String]

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

  private var isBulk: Bool { bulk.chooses || identifier.literal == nil }

  func validate() throws {
    let setting = try setting()
    if isBulk, case .spread = setting {
      throw ValidationError("spread is set for one request: name an identifier, and choose no others.")
    }
    if isBulk, request != nil { throw ValidationError("--request needs an identifier, and no other choice.") }
  }

  func run() async throws {
    switch (try setting(), isBulk ? nil : identifier.literal) {
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

  private func setSeveral(_ priority: Priority) async throws {
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
