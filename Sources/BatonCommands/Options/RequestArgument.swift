import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The arguments that name one request: an identifier, and optionally a request number.
struct RequestArgument: ParsableArguments, Sendable {
  @Argument(
    help: ArgumentHelp(
      """
      The identifier of the request. Without --request, the command takes the live request, otherwise the waiting one, \
      otherwise the last that ended. logs and trace prefer one that ran to one that waits or was cancelled before it \
      ran; show and wait do so only if the job repeats and its next request is not due yet.
      """),
    completion: .identifiers, transform: Arguments.identifier)
  var identifier: JobIdentifier

  @Option(
    help: ArgumentHelp("Exactly this request of the identifier.", valueName: "number"), transform: Arguments.positive)
  var request: Int?

  /// The parts of the path of the request's page in the console.
  /// - Parameter part: which page of the request; `nil` for the first one.
  func page(_ part: String? = nil) -> [String?] { ["requests", identifier.rawValue, request.map { "\($0)" }, part] }
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
