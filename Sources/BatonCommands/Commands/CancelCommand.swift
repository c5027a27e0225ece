import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

struct CancelCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancel the live and the waiting request of an identifier, or everything.",
    discussion: """
      A request that waits ends at once. A running launch expires with the reason 'cancelled': its batch may finish, \
      within seconds. For a job that repeats this ends the chain, until it is submitted or applied again.

      Examples:
        baton cancel com.example.report
        baton cancel com.example.report --request 3
        baton cancel --all
      """)

  @Argument(help: "The identifier.", transform: Arguments.identifier) var identifier: JobIdentifier?

  @Option(
    help: ArgumentHelp("Only this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  @Flag(help: "Every unfinished request.") var all = false

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    if all, identifier != nil || request != nil {
      throw ValidationError("--all cancels everything: name no identifier with it.")
    }
    if !all, identifier == nil { throw ValidationError("Name an identifier, or give --all.") }
  }

  func run() async throws {
    let console = Console.current
    let selection = identifier.map { CancelSelection.identifier($0, number: request) } ?? .all
    let user = console.environment.user
    let cancelled = try await client.connect { try await $0.cancel(selection, by: user) }
    console.emit(options.output, list: cancelled.map { JSONValue($0) }) { cancelled.map(\.line) }
    if cancelled.isEmpty { try tellNothing(console) }
  }

  private func tellNothing(_ console: Console) throws {
    guard let identifier else { return console.note("nothing to cancel: no request is unfinished") }
    let what =
      request.map { "request \($0) of '\(identifier)' has ended" } ?? "'\(identifier)' has no unfinished request"
    throw CommandFailure(.notFound, "nothing to cancel: \(what); look at 'baton show \(identifier)'")
  }
}

extension Cancellation {
  fileprivate var line: String {
    switch self {
    case .ended(_, let identifier, let number): "\(RequestName(identifier: identifier, number: number)): cancelled"
    case .stopping(let launch, let identifier, let number, let host):
      "\(RequestName(identifier: identifier, number: number)): stopping launch \(launch.number) on "
        + host.rawValue.onOneLine
    }
  }
}

extension JSONValue {
  fileprivate init(_ cancellation: Cancellation) {
    switch cancellation {
    case .ended(_, let identifier, let number):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "cancelled",
        "launch": nil, "host": nil,
      ]
    case .stopping(let launch, let identifier, let number, let host):
      self = [
        "identifier": JSONValue(identifier.rawValue), "request": JSONValue(number), "change": "stopping",
        "launch": JSONValue(launch.number), "host": JSONValue(host.rawValue),
      ]
    }
  }
}
