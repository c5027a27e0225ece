import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension JobTask {
  /// Submits a request of this or of another job, and returns when the coordinator has it on disk.
  ///
  /// ```swift
  /// worker.register("com.example.nightly") { task in
  ///   try await task.submit("com.example.nightly", after: .seconds(86_400))
  ///   for try await batch in task.batches(of: purgeable, size: 50) {
  ///     try await purge(batch)
  ///   }
  ///   try await task.submit("com.example.report", payload: Report(purged: purgeable.count))
  /// }
  /// ```
  ///
  /// The sample is from `Examples/Worker/Samples.swift`.
  ///
  /// `maySubmit` of the definition says which identifiers a launch may submit. The request is submitted by the
  /// principal of this request, and the span of this launch is its parent.
  ///
  /// **Once for each request.** A submission has a name, which is its identifier unless `name` says otherwise. In all
  /// launches of this request a submission with one name is made once, and later calls get the first answer. So a
  /// handler that goes on after an interruption may call this method again without harm. To submit one identifier
  /// several times, give each submission a name of its own, such as the number of the batch. In a divided request each
  /// shard has names of its own.
  ///
  /// A request of the identifier that waits is replaced, as by `baton submit`; one that runs is not changed.
  ///
  /// Cancellation does not interrupt this method: within the closing window of an expiry a handler may still submit.
  /// While the coordinator is away, the method waits for it. It throws if the deadline of an expiry comes first.
  ///
  /// - Parameters:
  ///   - identifier: the identifier of a job; not a pattern.
  ///   - payloadBytes: at most 64 KiB, for `payload` of the launches of the request; `nil` for none.
  ///   - delay: the shortest time until its first launch; `nil` leaves it to the definition.
  ///   - name: 1 to 255 bytes without control characters; `nil` means the identifier.
  /// - Returns: the request that was made, or replaced.
  /// - Throws: `HandlerError` with the code `.submissionRefused` if it was refused (`refusal` says why), or with the
  ///   code `.superseded` if this launch is over or another launch of the request is live. If the worker loses its
  ///   connection, it cannot know whether the last submission was made; the next launch of the request learns it by its
  ///   name.
  @discardableResult
  public func submit(
    _ identifier: String, payloadBytes: [UInt8]? = nil, after delay: Duration? = nil, name: String? = nil
  ) async throws -> SubmittedRequest {
    guard let known = JobIdentifier(identifier) else {
      throw HandlerError(
        .submissionRefused, "'\(identifier.escapedOnOneLine)' is not an identifier", refusal: .notPermitted)
    }
    let submission = LaunchSubmission(
      name: name ?? identifier, identifier: known, payload: payloadBytes,
      earliestBeginDate: delay.map { .afterSubmission(max($0, .zero)) }, parent: runtime.submitterSpan)
    if let problem = submission.problem {
      throw HandlerError(.submissionRefused, problem, refusal: .unavailable)
    }
    return SubmittedRequest(try await runtime.submit(submission))
  }

  /// Submits a request with a payload that is encoded as JSON.
  /// - Throws: `EncodingError` if the payload cannot be encoded, and the errors of the method above.
  @discardableResult
  public func submit(
    _ identifier: String, payload: some Encodable, after delay: Duration? = nil, name: String? = nil
  ) async throws -> SubmittedRequest {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try await submit(identifier, payloadBytes: Array(encoder.encode(payload)), after: delay, name: name)
  }
}

/// A request that a handler has submitted.
public struct SubmittedRequest: Hashable, Sendable {
  /// The identifier under which it was submitted.
  public let identifier: JobIdentifier
  /// The number of the request, which counts from 1 within its identifier.
  public let request: Int
  /// Whether a request that waited was replaced.
  public let replaced: Bool
  /// Whether this request had made the submission before, in this launch or in an earlier one. Nothing was submitted
  /// now then.
  public let isRepeat: Bool

  init(_ accepted: AcceptedSubmission) {
    (identifier, request) = (accepted.identifier, accepted.number)
    (replaced, isRepeat) = (accepted.replaced, accepted.isRepeat)
  }
}
