import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

struct RevertCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "revert",
    abstract: "Apply an earlier version of a definition again.",
    discussion: """
      It prints what changes, as 'baton plan' does, and applies that version, which becomes the newest one. The files \
      from which the definition came are not changed: 'baton definitions IDENTIFIER -o yaml' writes what is applied. \
      The 20 last versions of a definition are kept; 'baton definitions IDENTIFIER --versions' lists them.

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
    let plan = Plan([version.definition], present: present)
    if dryRun { return try plan.write(options.output, console) }
    let applied = try await client.connect { try await $0.apply([version.definition]) }
    console.emit(options, list: applied.map { JSONValue($0, to: number) }) {
      // The first line of a step says what would be done, and the last line here what was done.
      plan.steps.flatMap { $0.lines.dropFirst() } + applied.map { "\($0.line), from version \(number)" }
    }
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
