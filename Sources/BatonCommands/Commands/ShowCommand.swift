import ArgumentParser
import BatonCoordinator

struct ShowCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one request with every launch.",
    discussion: """
      If the definition repeats and its next request is not due yet, the last request that ran is shown, and NEXT \
      names the scheduled one. In JSON every key is always present; it is null if its value is unknown.

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
