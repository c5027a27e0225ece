import ArgumentParser
import BatonJSON
import BatonModel
import BatonSpec

struct ValidateCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Check job files without applying them.",
    discussion: """
      It reports every problem in every file, with its line. No coordinator is needed. Exit status 65 if there is an \
      error. Warnings and notes do not change the exit status, unless --strict makes errors of the warnings.

      Examples:
        baton validate job.yaml
        baton validate --strict jobs/
        make-jobs | baton validate -
        baton validate -o json jobs/ | jq -r '.[].message'
      """)

  @OptionGroup var files: FileArguments

  @OptionGroup var strictness: StrictOption
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let specification = console.specification(in: files.all, looksAtFiles: true, isStrict: strictness.isStrict)
    if options.output.isTable {
      for finding in specification.findings { console.note(console.painted(finding)) }
    } else {
      console.emit(options.output, list: specification.findings.map { JSONValue($0) }) { [] }
    }
    guard !specification.hasErrors else { throw CommandFailure(.badSpecification, specification.summary) }
    if options.output.isTable { console.output(Self.praise(specification)) }
  }

  private static func praise(_ specification: Specification) -> String {
    let files = Set(specification.definitions.map(\.file)).count
    let count = specification.definitions.count
    return "\(counted(count, "definition")) in \(counted(files, "file")) \(count == 1 ? "is" : "are") valid"
  }
}

extension JSONValue {
  init(_ problem: Problem) {
    self = [
      "file": JSONValue(problem.file), "line": JSONValue(problem.position.line),
      "column": JSONValue(problem.position.column), "severity": JSONValue(problem.severity.rawValue),
      "message": JSONValue(problem.message),
    ]
  }
}
