import BatonBase
package import BatonModel
package import BatonStore

/// A submission with the launch that makes it.
package struct SubmittingLaunch: Hashable, Sendable {
  package var launch: LaunchKey
  package var submission: LaunchSubmission

  package init(launch: LaunchKey, submission: LaunchSubmission) {
    (self.launch, self.submission) = (launch, submission)
  }

  /// What every submission id of a launch begins with. No client may use such an id: it could take the place of a
  /// launch's submission before the launch makes it.
  package static let prefix = "launch:"

  /// The id of the submission, which is the same in every launch of the request.
  package func id(digest: ([UInt8]) -> [UInt8]) -> String {
    let name = digest(Array(submission.name.utf8)).prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    return "\(Self.prefix)\(launch.request.rawValue):" + name.joined()
  }

  /// Why the launch may not submit this; `nil` if it may.
  package func refusal(for submitter: Submitter) -> LaunchSubmissionAnswer? {
    let identifier = submission.identifier
    guard submitter.maySubmit.contains(where: { $0.matches(identifier) }) else {
      return .refused(
        code: Refusal.Kind.notPermitted.rawValue,
        message: "'\(submitter.identifier)' may not submit '\(identifier)': add it to 'maySubmit' of its definition, "
          + "and: baton apply FILE")
    }
    return nil
  }

  /// - Parameters:
  ///   - id: see `id(digest:)`.
  ///   - trace: makes the trace context of the request from that of its submitter.
  package func submission(
    by submitter: Submitter, id: String, trace: (TraceContext) -> TraceContext
  ) -> Submission {
    var parent = submitter.trace
    if let named = submission.parent, named.traceID == parent.traceID { parent.spanID = named.spanID }
    return Submission(
      id: id, identifier: submission.identifier, payload: submission.payload,
      earliestBeginDate: submission.earliestBeginDate, priority: submission.priority, principal: submitter.principal,
      trace: trace(parent), parentSpanID: parent.spanID)
  }
}

/// The answer to a submission of a launch.
package struct AnsweredLaunch: Hashable, Sendable {
  package var launch: LaunchKey
  package var name: String
  /// `nil` if the launch is not the live launch of its request.
  package var answer: LaunchSubmissionAnswer?

  package init(_ asked: SubmittingLaunch, _ answer: LaunchSubmissionAnswer?) {
    (launch, name, self.answer) = (asked.launch, asked.submission.name, answer)
  }
}

extension LaunchSubmissionAnswer {
  package init(_ answer: SubmissionAnswer) {
    switch answer {
    case .accepted(let receipt, _, _, let isRepeat):
      self = .accepted(
        AcceptedSubmission(
          identifier: receipt.identifier, number: receipt.number, state: receipt.state, eligibleAt: receipt.eligibleAt,
          replaced: receipt.replaced, isRepeat: isRepeat))
    case .refused(let refusal): self = .refused(code: refusal.code, message: refusal.message)
    }
  }
}
