import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec

struct DefinitionsCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "definitions",
    abstract: "Show the definitions that are applied now.",
    discussion: """
      The numbers count the requests of a definition, also those that were submitted under an earlier text of it. \
      -o yaml writes the definitions as job files, which 'baton apply' takes: keys with their default value are left \
      out, and so are comments. 'baton show JOB --definition' writes the text that one request runs. BATCH is how long \
      a batch usually takes, ALLOWANCE how much of the launch time of a day is used, and HOSTS on how many hosts a \
      request could start now; it is told of at most 20 definitions.

      --versions shows what was applied for one definition, the last 20 times, and which keys were changed each time; \
      'baton revert' applies one of them again.

      Examples:
        baton definitions
        baton definitions 'com.example.photos.*'
        baton definitions com.example.report --versions
        baton definitions com.example.report -o yaml > report.yaml
        baton definitions -o jsonl | jq -r 'select(.requests.failed > 0).identifier'
      """)

  @Argument(
    help: "Only the definitions of these identifiers, or below these patterns.", completion: .definitions,
    transform: Arguments.pattern)
  var patterns: [IdentifierPattern] = []

  @Flag(help: "Show the versions that are kept of one definition.") var versions = false
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

  func validate() throws {
    guard versions else { return }
    guard patterns.count == 1 else { throw ValidationError("--versions are those of one definition: name it.") }
    guard output != .yaml else { throw ValidationError("--versions are no job files: leave out -o yaml.") }
    guard output != .name else { throw ValidationError("--versions have no names: leave out -o name.") }
  }

  func run() async throws {
    let (console, patterns) = (Console.current, patterns)
    if versions { return try await writeVersions(of: patterns[0], console) }
    let isTable = output == .table || output == .wide
    let (found, able) = try await client.connect { api in
      let found = try await api.definitions(named: patterns)
      let sound = found.filter { $0.problem == nil }.map(\.definition)
      // Job files say nothing of hosts.
      guard isTable, !sound.isEmpty, sound.count <= AbleHosts.mostDefinitions else { return (found, AbleHosts?.none) }
      return (found, try await api.ableHosts(for: sound))
    }
    if let missing = patterns.first(where: { pattern in !found.contains { pattern.names($0.definition.pattern) } }) {
      throw CommandFailure(
        .notFound, "no definition of '\(missing)' is applied: 'baton definitions' lists those that are")
    }
    switch output {
    case .yaml: console.lines(try yaml(found))
    case .table, .wide, .name, .json, .jsonl:
      let format = OutputFormat(rawValue: output.rawValue) ?? .table
      console.emit(format, list: found.map { JSONValue($0) }) { table(found, able, console) }
    }
  }

  private func writeVersions(of pattern: IdentifierPattern, _ console: Console) async throws {
    let versions = try await client.connect { try await $0.versions(of: pattern) }
    switch output {
    case .table, .wide: console.lines(versionsText(versions, console))
    case .json: console.emit(.json, list: JSONValue.versions(versions)) { [] }
    case .jsonl: console.emit(.jsonl, list: JSONValue.versions(versions)) { [] }
    case .yaml, .name: break  // `validate` has refused both.
    }
  }

  private func yaml(_ found: [DefinitionReport]) throws -> [String] {
    let texts = try found.map { try DefinitionValue($0.definition).job }
    return texts.isEmpty ? [] : [texts.joined(separator: "\n---\n")]
  }

  private func table(_ found: [DefinitionReport], _ able: AbleHosts?, _ console: Console) -> [String] {
    if found.isEmpty { console.note("no definition is applied yet: write a job file and run 'baton apply FILE'") }
    let now = console.environment.now()
    let sound = found.filter { $0.problem == nil }.map(\.definition.pattern)
    let hosts = Dictionary(zip(sound, able?.counts ?? []), uniquingKeysWith: { first, _ in first })
    let hasAllowance = found.contains { $0.used != nil }
    return TablePrinter.lines(
      [
        .init("IDENTIFIER"), .init("KIND"), .init("RUNNING", isNumber: true), .init("READY", isNumber: true),
        .init("SCHEDULED", isNumber: true), .init("FAILED", isNumber: true),
        .init("SUCCEEDED", isNumber: true, rank: 2),
        .init("BATCH", isNumber: true, rank: 4),
      ] + (hasAllowance ? [.init("ALLOWANCE", rank: 5)] : [])
        + (able == nil ? [] : [.init("HOSTS", isNumber: true, rank: 6)])
        + [.init("APPLIED", rank: 1), .init("DETAIL", rank: 3)],
      found.map { report in
        let counts = [.running, .ready, .scheduled, .failed, .succeeded].map { report.counts[$0] ?? 0 }
        return [Cell(report.definition.pattern.rawValue), Cell(report.definition.kind.rawValue)]
          + counts.map { Cell("\($0)") } + [Cell(report.usualBatch?.inWords ?? "-")]
          + (hasAllowance ? [Cell(report.allowanceText)] : [])
          + (able == nil ? [] : [Cell(hosts[report.definition.pattern].map { "\($0.now)" } ?? "-")])
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

extension DefinitionReport {
  /// How much of the day's launch time is used: `12m of 1h`.
  fileprivate var allowanceText: String {
    guard let used, let allowance = definition.dailyAllowance else { return "-" }
    return "\(used.inWords) of \(allowance.inWords)"
  }
}
