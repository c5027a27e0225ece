import ArgumentParser
import BatonCoordinator

struct ShowCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one request with every launch.",
    discussion: """
      Where the definition repeats and the next request is not due yet, that is the last one that ran, and NEXT has the \
      one that is scheduled. In JSON a key is always there; it is null while its value is unknown.

      Examples:
        baton show com.example.report
        baton show com.example.report --request 3
        baton show com.example.report -o json | jq '.launchHistory[].outcome'
      """)

  @OptionGroup var request: RequestArgument
  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let request = request
    let details = try await client.connect {
      try await $0.details(request.identifier, number: request.request, choosing: .ranIfRepeating)
    }
    console.emit(options.output, JSONValue(details)) { requestBlock(details, console) }
  }
}
