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
      were submitted under: the plan counts those that wait. Exit status: 0 if nothing would change, 2 if something \
      would.

      Examples:
        baton plan job.yaml
        baton plan jobs/
        make-jobs | baton plan -
        baton plan jobs/ > /dev/null; [ $? = 2 ] && echo 'not applied yet'
      """)

  @OptionGroup var files: FileArguments

  @OptionGroup var strictness: StrictOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let definitions = try console.definitions(in: files.all, isStrict: strictness.isStrict).map(\.definition)
    try await Plan.write(definitions, client, options.output, console)
  }
}

/// What the application of definitions would change.
struct Plan {
  struct Step {
    var definition: Definition
    /// What is applied now; `nil` if nothing is.
    var present: DefinitionReport?

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

  var isEmpty: Bool { steps.allSatisfy { $0.change == .unchanged } }

  init(_ definitions: [Definition], present: [DefinitionReport]) {
    let byPattern = Dictionary(present.map { ($0.definition.pattern, $0) }, uniquingKeysWith: { first, _ in first })
    steps = definitions.map { Step(definition: $0, present: byPattern[$0.pattern]) }
  }

  /// Writes the plan, and ends with status 2 if something would change.
  static func write(
    _ definitions: [Definition], _ client: ClientOptions, _ format: OutputFormat, _ console: Console
  ) async throws {
    let present = try await client.connect { try await $0.definitions(named: []) }
    let plan = Plan(definitions, present: present)
    console.emit(format, list: plan.steps.map { JSONValue($0) }) { plan.steps.flatMap { $0.lines } + [plan.summary] }
    if !plan.isEmpty { throw CommandFailure(.waiting) }
  }

  private var summary: String {
    let changed = steps.count { $0.change != .unchanged }
    if changed == 0 { return "Nothing would change." }
    return "\(counted(changed, "definition")) of \(steps.count) would change. 'baton apply' changes "
      + (changed == 1 ? "it." : "them.")
  }
}

extension Plan.Step {
  /// How many requests wait and would keep the definition that is applied now.
  var waiting: Int { change == .updated ? present?.waiting ?? 0 : 0 }

  fileprivate var lines: [String] {
    let headline =
      "\(definition.pattern.rawValue.onOneLine): "
      + (change == .unchanged ? "unchanged" : "would be \(change.rawValue)")
    let problem = change == .updated ? present?.problem.map { "  what is stored is not run: \($0.onOneLine)" } : nil
    let keeping =
      waiting == 0
      ? nil : "  \(counted(waiting, "waiting request")) \(waiting == 1 ? "keeps" : "keep") the present definition"
    return [headline] + [problem].compactMap { $0 } + changes.flatMap(\.lines) + [keeping].compactMap { $0 }
  }
}

extension DefinitionChange {
  fileprivate var lines: [String] {
    [("-", before), ("+", after)].compactMap { sign, value in
      value.map { "  \(sign) \(key): \($0.onOneLine)".onOneLine }
    }
  }
}

extension JSONValue {
  fileprivate init(_ step: Plan.Step) {
    self = [
      "identifier": JSONValue(step.definition.pattern.rawValue), "change": JSONValue(step.change.rawValue),
      "keys": .array(
        step.changes.map { change in
          [
            "key": JSONValue(change.key), "before": change.before.map { JSONValue($0) } ?? .null,
            "after": change.after.map { JSONValue($0) } ?? .null,
          ]
        }), "waiting": JSONValue(step.waiting),
    ]
  }
}
