import ArgumentParser
import BatonCoordinator
import BatonModel
import BatonStore

/// The arguments that name one request: an identifier, and optionally a request number.
struct RequestArgument: ParsableArguments, Sendable {
  @Argument(
    help: "The identifier: its live request, else its waiting one, else the last to end.",
    transform: Arguments.identifier)
  var identifier: JobIdentifier

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  /// The request that the arguments name now.
  func record(_ api: any OperatorAPI) async throws -> RequestRecord {
    try await api.details(identifier, number: request).record
  }
}

extension Console {
  /// Says on standard error which request the command took, if another request of the identifier waits.
  func tellChoice(_ details: RequestDetails) {
    guard let waiting = details.waiting else { return }
    note(
      "\(details.record.name), \(details.record.state.rawValue); request \(waiting.number) is "
        + "\(waiting.standing(at: environment.now())) (--request \(waiting.number))")
  }
}
