import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct RemoveCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Delete a definition.",
    discussion: """
      Refused while requests of it are unfinished: wait for them, or cancel them. Requests that have ended stay listed.

      Examples:
        baton remove com.example.report
        baton remove 'com.example.photos.export.*'
      """)

  @Argument(
    help: "The identifier, or the pattern, as it was declared.", completion: .definitions,
    transform: Arguments.pattern)
  var identifier: IdentifierPattern

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: ChangeOptions

  func run() async throws {
    let pattern = identifier
    try await client.connect { try await $0.remove(pattern) }
    Console.current.emit(options, JSONValue(removed: pattern)) {
      ["\(pattern): removed"]
    }
  }
}
