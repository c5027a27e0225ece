import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

struct PlanCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Say what 'baton apply' would change, and change nothing.",
    discussion: """
      Each key that differs is shown with its present value (-) and its new one (+). Requests keep the definition they \
      were submitted under: the plan counts those that wait, and names those that keep an earlier definition than is \
      applied. Exit status: 0 if nothing would change, 2 if something would. Of at most 20 definitions it says \
      on how many hosts a request could start now.

      --prune PATTERN also shows the definitions below the pattern that are in none of the files, which 'baton apply \
      --prune PATTERN' removes.

      Examples:
        baton plan job.yaml
        baton plan jobs/ --prune 'com.example.*'
        baton plan jobs/
        make-jobs | baton plan -
        baton plan jobs/ > /dev/null; [ $? = 2 ] && echo 'not applied yet'
      """)

  @OptionGroup var files: FileArguments

  @OptionGroup var pruning: PruneOption
  @OptionGroup var strictness: StrictOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let definitions = try console.definitions(in: files.all, isStrict: strictness.isStrict, applies: false).map(
      \.definition)
    try await Plan.write(definitions, pruning: pruning.prune, client, options.output, console)
  }
}

/// Which definitions are removed if no file has them.
struct PruneOption: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp(
      "Remove the definitions below this pattern that are in none of the files. May be given several times.",
      valueName: "pattern"), transform: Arguments.pattern)
  var prune: [IdentifierPattern] = []
}

/// What the application of definitions would change.
struct Plan {
  struct Step {
    var definition: Definition
    /// What is applied now; `nil` if nothing is.
    var present: DefinitionReport?
    /// The waiting requests that keep an earlier definition than the one that is applied now.
    var keeping = EarlierText()

    var changes: [DefinitionChange] {
      guard let present, present.problem == nil else { return [] }
      return DefinitionChange.between(DefinitionValue(present.definition), DefinitionValue(definition))
    }

    var change: AppliedDefinition.Change {
      guard let present else { return .created }
      return present.problem == nil && present.definition == definition ? .unchanged : .updated
    }
  }

  var steps: [Step]
  /// The definitions that would be removed.
  var removals: [DefinitionReport] = []
  /// How many hosts could take a request of each step now; `nil` if they are not counted.
  var able: AbleHosts?

  var isEmpty: Bool { steps.allSatisfy { $0.change == .unchanged } && removals.isEmpty }

  /// - Parameter pruning: definitions below these patterns are removed if they are not among `definitions`.
  init(_ definitions: [Definition], pruning: [IdentifierPattern] = [], present: [DefinitionReport]) {
    let kept = Set(definitions.map(\.pattern))
    removals = present.filter { report in
      !kept.contains(report.definition.pattern) && pruning.contains { $0.covers(report.definition.pattern) }
    }
    let byPattern = Dictionary(present.map { ($0.definition.pattern, $0) }, uniquingKeysWith: { first, _ in first })
    steps = definitions.map { Step(definition: $0, present: byPattern[$0.pattern]) }
  }

  /// Looks for the waiting requests that keep earlier definitions.
  mutating func findKeeping(_ api: any OperatorAPI) async throws {
    for index in steps.indices { try await steps[index].findKeeping(api) }
  }

  /// Writes the plan, and ends with status 2 if something would change.
  static func write(
    _ definitions: [Definition], pruning: [IdentifierPattern], _ client: ClientOptions, _ format: OutputFormat,
    _ console: Console
  ) async throws {
    let plan = try await client.connect { api in
      var plan = Plan(definitions, pruning: pruning, present: try await api.definitions(named: []))
      try await plan.findKeeping(api)
      if definitions.count <= AbleHosts.mostDefinitions { plan.able = try await api.ableHosts(for: definitions) }
      return plan
    }
    try plan.write(format, console)
  }

  /// - Parameter command: the command that would make the changes.
  func write(_ format: OutputFormat, _ console: Console, for command: String = "baton apply") throws {
    let objects = steps.enumerated().map { JSONValue($0.element, able: count(of: $0.offset)) }
    console.emit(format, list: objects + removals.map { JSONValue(removal: $0) }) {
      steps.enumerated().flatMap { $0.element.lines + ableLine($0.offset) } + removals.flatMap(\.removalLines)
        + [summary(for: command)]
    }
    if !isEmpty { throw CommandFailure(.waiting) }
  }

  private func count(of step: Int) -> AbleHosts.Count? {
    guard let able, able.counts.indices.contains(step) else { return nil }
    return able.counts[step]
  }

  private func ableLine(_ step: Int) -> [String] {
    guard let able, let count = count(of: step), steps[step].change != .unchanged else { return [] }
    let rest = count.ever > count.now ? ", \(count.ever) some time" : ""
    return ["  \(count.now) of \(counted(able.hosts, "host")) could take a request now\(rest)"]
  }

  private func summary(for command: String) -> String {
    let changed = steps.count { $0.change != .unchanged }
    let removed = removals.isEmpty ? "" : " \(counted(removals.count, "definition")) would be removed."
    if isEmpty { return "Nothing would change." }
    if changed == 0 { return String(removed.dropFirst()) }
    return "\(counted(changed, "definition")) of \(steps.count) would change. '\(command)' changes "
      + (changed == 1 ? "it." : "them.") + removed
  }
}

extension Plan.Step {
  /// How many requests wait and would keep the definition that is applied now.
  var waiting: Int { change == .updated ? present?.waiting ?? 0 : 0 }

  var lines: [String] {
    let headline =
      "\(definition.pattern.rawValue.onOneLine): "
      + (change == .unchanged ? "unchanged" : "would be \(change.rawValue)")
    let problem = change == .updated ? present?.problem.map { "  what is stored is not run: \($0.onOneLine)" } : nil
    let present = waiting - keeping.count
    let ofPresent =
      present <= 0
      ? nil : "  \(counted(present, "waiting request")) \(present == 1 ? "keeps" : "keep") the present definition"
    return [headline] + [problem].compactMap { $0 } + changes.flatMap(\.lines) + [ofPresent].compactMap { $0 }
      + keeping.lines
  }

  /// Looks for the requests that keep an earlier definition than the one that is applied.
  fileprivate mutating func findKeeping(_ api: any OperatorAPI) async throws {
    guard change != .created, let present, present.waiting > 0 else { return }
    var isApplied: [DefinitionID: Bool] = [:]
    var versions: Set<Int> = []
    keeping = try await EarlierText.find(definition.pattern, api) { record in
      if let known = isApplied[record.definition] { return !known }
      let found = try await api.definition(of: record.identifier, number: record.number).isApplied
      isApplied[record.definition] = found
      if !found, let version = try await api.details(record.identifier, number: record.number).version {
        versions.insert(version.number)
      }
      return !found
    }
    keeping.versions = versions.sorted()
  }
}

extension DefinitionReport {
  /// What the removal of the definition does. It is refused while requests of it are unfinished.
  fileprivate var removalLines: [String] {
    let unfinished = waiting + (counts[.running] ?? 0)
    let refusal =
      unfinished == 0
      ? [] : ["  refused as long as \(counted(unfinished, "request")) \(unfinished == 1 ? "is" : "are") unfinished"]
    return ["\(definition.pattern.rawValue.onOneLine): would be removed"] + refusal
  }
}

extension DefinitionChange {
  var lines: [String] {
    [("-", before), ("+", after)].compactMap { sign, value in
      value.map { "  \(sign) \(key): \($0.onOneLine)".onOneLine }
    }
  }
}

extension JSONValue {
  init(_ change: DefinitionChange) {
    self = [
      "key": JSONValue(change.key), "before": change.before.map { JSONValue($0) } ?? .null,
      "after": change.after.map { JSONValue($0) } ?? .null,
    ]
  }

  fileprivate init(removal report: DefinitionReport) {
    self = [
      "identifier": JSONValue(report.definition.pattern.rawValue), "change": "removed", "keys": .array([]),
      "waiting": JSONValue(report.waiting), "waitingWithEarlierDefinition": JSONValue(0), "hostsNow": .null,
      "hostsEver": .null,
    ]
  }

  fileprivate init(_ step: Plan.Step, able: AbleHosts.Count?) {
    self = [
      "identifier": JSONValue(step.definition.pattern.rawValue), "change": JSONValue(step.change.rawValue),
      "keys": .array(step.changes.map { JSONValue($0) }), "waiting": JSONValue(step.waiting),
      "waitingWithEarlierDefinition": JSONValue(step.keeping.count), "hostsNow": JSONValue(able?.now),
      "hostsEver": JSONValue(able?.ever),
    ]
  }
}
