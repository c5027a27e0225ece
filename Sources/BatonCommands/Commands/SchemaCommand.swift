import ArgumentParser
import BatonSpec

struct SchemaCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print the JSON Schema of a job file.",
    discussion: """
      Editors complete and check job files with it (draft-07).

      Examples:
        baton schema > job.schema.json
      and as the first line of a job file:
        # yaml-language-server: $schema=job.schema.json
      """)

  func run() async throws {
    let text = JobSchema.text
    Console.current.output(text.hasSuffix("\n") ? String(text.dropLast()) : text)
  }
}
