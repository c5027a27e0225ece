import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec

struct DefinitionsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "definitions",
    abstract: "Show the definitions that are applied now.",
    discussion: """
      The numbers count the requests of a definition, also those that were submitted under an earlier text of it. \
      -o yaml writes the definitions as job files, which 'baton apply' takes: keys with their default value are left \
      out, and so are comments. 'baton show JOB --definition' writes the text that one request runs.

      Examples:
        baton definitions
        baton definitions 'com.example.photos.*'
        baton definitions com.example.report -o yaml > report.yaml
        baton definitions -o jsonl | jq -r 'select(.requests.failed > 0).identifier'
      """)

  @Argument(
    help: "Only the definitions of these identifiers, or below these patterns.", completion: .definitions,
    transform: Arguments.pattern)
  var patterns: [IdentifierPattern] = []

  @OptionGroup var client: ClientOptions

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "table for people, or wide, of which nothing is cut; name for xargs; yaml for job files; json (a list is one "
        + "array) or jsonl (one object per line) for scripts.",
      valueName: "format"))
  var output: Format = .table

  enum Format: String, CaseIterable, ExpressibleByArgument, Sendable {
    case table, wide, name, yaml, json, jsonl
  }

  func run() async throws {
    let (console, patterns) = (Console.current, patterns)
    let found = try await client.connect { try await $0.definitions(named: patterns) }
    if let missing = patterns.first(where: { pattern in !found.contains { pattern.names($0.definition.pattern) } }) {
      throw CommandFailure(
        .notFound, "no definition of '\(missing)' is applied: 'baton definitions' lists those that are")
    }
    switch output {
    case .yaml: console.lines(try yaml(found))
    case .table, .wide, .name, .json, .jsonl:
      let format = OutputFormat(rawValue: output.rawValue) ?? .table
      console.emit(format, list: found.map { JSONValue($0) }) { table(found, console) }
    }
  }

  private func yaml(_ found: [DefinitionReport]) throws -> [String] {
    let texts = try found.map { try DefinitionValue($0.definition).job }
    return texts.isEmpty ? [] : [texts.joined(separator: "\n---\n")]
  }

  private func table(_ found: [DefinitionReport], _ console: Console) -> [String] {
    if found.isEmpty { console.note("no definition is applied yet: write a job file and run 'baton apply FILE'") }
    let now = console.environment.now()
    return TablePrinter.lines(
      [
        .init("IDENTIFIER"), .init("KIND"), .init("RUNNING", isNumber: true), .init("READY", isNumber: true),
        .init("SCHEDULED", isNumber: true), .init("FAILED", isNumber: true),
        .init("SUCCEEDED", isNumber: true, rank: 2),
        .init("APPLIED", rank: 1), .init("DETAIL", rank: 3),
      ],
      found.map { report in
        let counts = [.running, .ready, .scheduled, .failed, .succeeded].map { report.counts[$0] ?? 0 }
        return [Cell(report.definition.pattern.rawValue), Cell(report.definition.kind.rawValue)]
          + counts.map { Cell("\($0)") }
          + [
            Cell(report.appliedAt.relative(to: now)),
            report.problem.map { Cell("not run: \($0)", .red) } ?? Cell(report.definition.title ?? ""),
          ]
      }, style: console.style(of: .output), width: console.outputColumns)
  }
}

extension DefinitionValue {
  /// The text of a job file, without the line break at its end.
  var job: String {
    get throws { try String(yaml.dropLast()) }
  }
}
