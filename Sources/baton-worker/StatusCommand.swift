import ArgumentParser
import BatonHost

/// `baton-worker status`: shows the host's owner what runs on the host.
struct StatusCommand: AsyncParsableCommand, Sendable {
  enum Format: String, CaseIterable, ExpressibleByArgument, Sendable { case table, json }

  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show what runs on this host, what it has used, and what its conditions are.",
    discussion: """
      CPU time and memory are shown for commands only, because a handler runs in the worker's process. For root, the \
      worker's user, and members of the group 'baton-owner'.

      EXAMPLES
        baton-worker status
        baton-worker status -o json | jq -r '.launches[].identifier'
      """)

  @Option(
    name: .shortAndLong, help: ArgumentHelp("table for people, json for scripts.", valueName: "format"))
  var output: Format = .table

  @OptionGroup var options: OwnerOptions

  func run() async throws {
    let status = try await options.ask(.status).status
    switch output {
    case .table: print(status.text, terminator: "")
    case .json: print(try status.json)
    }
  }
}
