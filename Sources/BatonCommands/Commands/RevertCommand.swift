import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

struct RevertCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "revert",
    abstract: "Apply an earlier version of a definition again.",
    discussion: """
      It applies that version, which becomes the newest one, and prints what changed. Requests that wait keep the \
      definition that they have; the command says how to give them this one. The files from which the definition came \
      are not changed: 'baton definitions IDENTIFIER -o yaml' writes what is applied. The 20 last \
      versions of a definition are kept; 'baton definitions IDENTIFIER --versions' lists them.

      Examples:
        baton revert com.example.report --to 3 --dry-run
        baton revert com.example.report --to 3
      """)

  @Argument(help: "The identifier or the pattern of the definition.", transform: Arguments.pattern)
  var pattern: IdentifierPattern

  @Option(help: ArgumentHelp("The version to apply again.", valueName: "number"), transform: Arguments.positive)
  var to: Int

  @Flag(help: "Only say what would change, as 'baton plan' does.") var dryRun = false
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let console = Console.current
    let (pattern, number) = (pattern, to)
    let (versions, present) = try await client.connect { api in
      (try await api.versions(of: pattern), try await api.definitions(named: [pattern]))
    }
    guard let version = versions.first(where: { $0.number == number }) else {
      let kept = versions.map { String($0.number) }.joined(separator: ", ")
      throw CommandFailure(.notFound, "version \(number) of '\(pattern)' is not kept; these are: \(kept)")
    }
    if dryRun {
      let plan = try await client.connect { api in
        var plan = Plan([version.definition], present: present)
        try await plan.findKeeping(api)
        return plan
      }
      return try plan.write(options.output, console, for: "baton revert \(pattern.rawValue.onOneLine) --to \(number)")
    }
    let (applied, keeping) = try await client.connect { api in
      let applied = try await api.apply([version.definition])
      return (applied, await Self.keeping(applied, api))
    }
    let name = pattern.literal == nil ? "\"\(pattern.rawValue.onOneLine)\"" : pattern.rawValue.onOneLine
    let changes = Plan([version.definition], present: present).steps.flatMap(\.changes).flatMap(\.lines)
    console.emit(options, list: applied.map { JSONValue($0, to: number) }) {
      applied.map { "\($0.line), from version \(number)" } + changes
        + keeping.lines(
          "the earlier definition", refreezing: "baton definitions \(name) -o yaml | baton apply - --refreeze")
    }
  }

  /// The requests that wait under an earlier definition. The definition is applied already, so an error of this search
  /// is no error of the command.
  private static func keeping(_ applied: [AppliedDefinition], _ api: any OperatorAPI) async -> EarlierText {
    guard let one = applied.first else { return EarlierText() }
    let found = try? await EarlierText.find(one.pattern, api) { $0.definition != one.id }
    return found ?? EarlierText()
  }
}

extension JSONValue {
  fileprivate init(_ applied: AppliedDefinition, to version: Int) {
    self = [
      "identifier": JSONValue(applied.pattern.rawValue), "change": JSONValue(applied.change.rawValue),
      "version": JSONValue(version),
    ]
  }
}
