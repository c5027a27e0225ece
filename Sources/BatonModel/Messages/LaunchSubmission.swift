/// A submission that a launch makes: a Swift handler with `JobTask.submit`, a command with `baton submit`. The
/// definition of the launch says for which identifiers (`Definition.maySubmit`).
package struct LaunchSubmission: Hashable, Sendable {
  /// Names the submission within the request of its launch. The same name gets the same answer in every launch of the
  /// request, so a launch that goes on after an interruption submits nothing twice.
  package var name: String
  package var identifier: JobIdentifier
  package var payload: [UInt8]?
  /// Replaces the definition's earliest begin date; `nil` leaves it as it is.
  package var earliestBeginDate: EarliestBeginDate?
  package var priority: Priority?
  /// The span of the submitter. It counts only if it belongs to the trace of the launch; otherwise the span of the
  /// launch is the parent.
  package var parent: TraceContext?

  /// The longest name, in bytes: that of an identifier, which is the usual name.
  package static let longestName = JobIdentifier.maximumBytes

  package init(
    name: String, identifier: JobIdentifier, payload: [UInt8]? = nil, earliestBeginDate: EarliestBeginDate? = nil,
    priority: Priority? = nil, parent: TraceContext? = nil
  ) {
    (self.name, self.identifier, self.payload) = (name, identifier, payload)
    (self.earliestBeginDate, self.priority, self.parent) = (earliestBeginDate, priority, parent)
  }

  /// What keeps the submission from being sent; `nil` if nothing does.
  package var problem: String? {
    guard (1...Self.longestName).contains(name.utf8.count), name.unicodeScalars.allSatisfy(\.isPrintable) else {
      return "the name of a submission has 1 to \(Self.longestName) bytes, without control characters"
    }
    guard let payload, payload.count > Submission.maximumPayloadBytes else { return nil }
    return "the payload has \(payload.count) bytes; a payload has at most \(Submission.maximumPayloadBytes): "
      + "pass the name of a file instead"
  }
}

/// The answer to a `LaunchSubmission`.
package enum LaunchSubmissionAnswer: Hashable, Sendable {
  case accepted(AcceptedSubmission)
  /// One of Apple's four codes (`Refusal.Kind`), and what to do about it.
  case refused(code: String, message: String)
}

/// The request that a submission of a launch made, replaced or joined.
package struct AcceptedSubmission: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var number: Int
  package var state: RequestState
  /// The earliest time of the first launch, as far as it could be foreseen.
  package var eligibleAt: Timestamp
  /// Whether a request that waited was replaced.
  package var replaced: Bool
  /// Whether the request of the launch had made this submission before, so that nothing was submitted now.
  package var isRepeat: Bool

  package init(
    identifier: JobIdentifier, number: Int, state: RequestState, eligibleAt: Timestamp, replaced: Bool, isRepeat: Bool
  ) {
    (self.identifier, self.number, self.state) = (identifier, number, state)
    (self.eligibleAt, self.replaced, self.isRepeat) = (eligibleAt, replaced, isRepeat)
  }
}
