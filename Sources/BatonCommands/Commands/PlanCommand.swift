import ArgumentParser
import BatonCoordinator
import BatonJSON
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

extension Plan {
  /// Writes the plan, and ends with status 2 if something would change.
  static func write(
    _ definitions: [Definition], pruning: [IdentifierPattern], _ client: ClientOptions, _ format: OutputFormat,
    _ console: Console
  ) async throws {
    let plan = try await client.connect { api in
      try await Plan(definitions, pruning: pruning, asking: api)
    }
    try plan.write(format, console)
  }

  /// - Parameter command: the command that would make the changes.
  func write(_ format: OutputFormat, _ console: Console, for command: String = "baton apply") throws {
    console.emit(format, list: json) {
      steps.enumerated().flatMap { $0.element.lines + ableLine($0.offset) } + removals.flatMap(\.removalLines)
        + [summary(for: command)]
    }
    if !isEmpty { throw CommandFailure(.waiting) }
  }

  private func ableLine(_ step: Int) -> [String] {
    guard let able, let count = count(of: step), steps[step].change != .unchanged else { return [] }
    let rest = count.ever > count.now ? ", \(count.ever) some time" : ""
    let reasons = count.obstacles.map { $0.code + ($0.hosts.map { " on \(counted($0, "host"))" } ?? "") }
    let why = count.now > 0 || reasons.isEmpty ? "" : ": \(reasons.joined(separator: ", "))"
    return ["  \(count.now) of \(counted(able.hosts, "host")) could take a request now\(rest)\(why)"]
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
