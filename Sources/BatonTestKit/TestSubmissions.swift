import BatonHandler
import BatonModel
import Synchronization

/// A submission that a handler under test has made with `JobTask.submit`. `Examples/TestKit/NightlyTests.swift` reads
/// some.
public struct TestSubmission: Hashable, Sendable {
  /// The number of the launch that made it first.
  public let launch: Int
  /// The identifier of the job.
  public let identifier: JobIdentifier
  /// The name of the submission within its request.
  public let name: String
  /// The payload; `nil` if there is none.
  public let payload: [UInt8]?
  /// The shortest time until the first launch of the request; `nil` if the handler did not say one.
  public let delay: Duration?
  /// When it was made: the `elapsed` of the request's clock.
  public let submittedAt: Duration
}

/// Takes the place of the requests that a coordinator would make for the submissions of a request under test.
struct TestSubmissions: Sendable {
  private(set) var all: [TestSubmission] = []
  private var answers: [String: AcceptedSubmission] = [:]

  /// Answers a submission. The same name gets the same answer.
  mutating func take(
    _ submission: LaunchSubmission, by launch: Int, of definition: Definition, _ identifier: JobIdentifier,
    at now: Duration
  ) -> LaunchSubmissionAnswer {
    guard definition.maySubmit?.contains(where: { $0.matches(submission.identifier) }) == true else {
      return .refused(
        code: SubmissionRefusal.notPermitted.rawValue,
        message: "'\(identifier)' may not submit '\(submission.identifier)': add it to 'maySubmit' of the TestRequest, "
          + "and of the definition")
    }
    if var earlier = answers[submission.name] {
      guard earlier.identifier == submission.identifier else {
        return .refused(
          code: SubmissionRefusal.unavailable.rawValue,
          message: "the name '\(submission.name)' was already used for a submission of '\(earlier.identifier)'")
      }
      earlier.isRepeat = true
      return .accepted(earlier)
    }
    var delay: Duration?
    if case .afterSubmission(let duration)? = submission.earliestBeginDate { delay = duration }
    let number = all.count { $0.identifier == submission.identifier } + (submission.identifier == identifier ? 2 : 1)
    let accepted = AcceptedSubmission(
      identifier: submission.identifier, number: number, state: .scheduled, eligibleAt: Timestamp(nanoseconds: 0),
      replaced: false, isRepeat: false)
    answers[submission.name] = accepted
    all.append(
      TestSubmission(
        launch: launch, identifier: submission.identifier, name: submission.name, payload: submission.payload,
        delay: delay, submittedAt: now))
    return .accepted(accepted)
  }
}

extension TestRequest {
  /// The submissions that all launches have made, in order. A submission that a later launch repeated is there once.
  public var submissions: [TestSubmission] { state.withLock { $0.submissions.all } }
}
