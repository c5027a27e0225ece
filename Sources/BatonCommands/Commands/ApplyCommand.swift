import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonSpec
import BatonStore

struct ApplyCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Store the definitions of job files at the coordinator.",
    discussion: """
      Nothing is submitted, with one exception: a definition with 'repeat' that has no request yet gets its first one. \
      Requests that were submitted before keep the definition they were submitted under. If a file has an error, \
      nothing of any file is applied.

      Examples:
        baton apply job.yaml
        baton apply jobs/
      """)

  @Argument(help: "YAML files, or folders of them.", completion: .file(extensions: ["yaml", "yml"]))
  var files: [String]

  @OptionGroup var strictness: StrictOption
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let definitions = try console.definitions(in: files, isStrict: strictness.isStrict).map(\.definition)
    let applied = try await client.connect { try await $0.apply(definitions) }
    console.emit(options.output, list: applied.map { JSONValue($0) }) { applied.map(\.line) }
  }
}

extension AppliedDefinition {
  /// The line of output: `com.example.export.*: created`.
  var line: String {
    "\(pattern.rawValue.onOneLine): \(change.rawValue)" + (submitted.map { ", submitted request \($0.number)" } ?? "")
  }
}

extension JSONValue {
  init(_ applied: AppliedDefinition) {
    self = [
      "identifier": JSONValue(applied.pattern.rawValue), "change": JSONValue(applied.change.rawValue),
      "submittedRequest": JSONValue(applied.submitted?.number),
    ]
  }
}
