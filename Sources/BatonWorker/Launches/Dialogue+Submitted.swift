import BatonCore
import BatonHandler
import BatonModel

extension Dialogue.Answer {
  /// The request that a submission made.
  /// - Throws: `HandlerError` with the code `.submissionRefused`.
  func submitted() throws -> AcceptedSubmission {
    switch self {
    case .submitted(.accepted(let accepted)): return accepted
    case .submitted(.refused(let code, let message)):
      throw HandlerError(.submissionRefused, message, refusal: SubmissionRefusal(rawValue: code) ?? .unavailable)
    case .done, .items, .refused: preconditionFailure("a submission was answered as another question")
    }
  }
}
