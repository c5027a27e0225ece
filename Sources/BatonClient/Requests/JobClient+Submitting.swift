internal import BatonModel
internal import BatonProtobuf
internal import BatonWire
internal import GRPCCore
internal import SwiftProtobuf

extension JobClient {
  /// Submits a job, and returns when the request is stored.
  /// - Parameter submission: what to run, and when.
  /// - Returns: the coordinator's answer. A warning in it says why no host could run the request now.
  /// - Throws: `JobClientError`: among others `.notPermitted` if no definition is applied for the identifier,
  ///   `.tooManyPending`, `.immediateRunIneligible`, and `.invalid` if the submission is malformed.
  @discardableResult
  public func submit(_ submission: JobSubmission) async throws -> AcceptedSubmission {
    guard let answer = try await submit(contentsOf: [submission]).first else {
      throw JobClientError(.unexpectedAnswer, "the coordinator did not answer the submission: look at 'baton list'")
    }
    return try answer.get()
  }

  /// Submits a job without a payload. See `submit(_:)` for a submission.
  @discardableResult
  public func submit(_ identifier: String) async throws -> AcceptedSubmission {
    try await submit(JobSubmission(identifier))
  }

  /// Submits a job with a payload, which is encoded as JSON of at most 64 KiB. See `submit(_:)` for a submission.
  @discardableResult
  public func submit(_ identifier: String, payload: some Encodable) async throws -> AcceptedSubmission {
    try await submit(JobSubmission(identifier, payload: payload))
  }

  /// Submits several jobs with one call, which is faster than one call for each.
  /// - Parameter submissions: at most 1,000. Their `traceparent` must be the same.
  /// - Returns: the answers in the order of the submissions. A refused submission does not affect the others.
  /// - Throws: `JobClientError` if none was submitted, for example with the code `.invalid` if one is malformed.
  public func submit(
    contentsOf submissions: [JobSubmission]
  ) async throws -> [Result<AcceptedSubmission, JobClientError>] {
    guard submissions.count <= WireLimits.submissions.most else {
      throw JobClientError(
        .invalid, "\(submissions.count) submissions in one call are too many: at most \(WireLimits.submissions.most)")
    }
    guard Set(submissions.map(\.traceparent)).count <= 1 else {
      throw JobClientError(.invalid, "all submissions of one call have the same traceparent: make several calls")
    }
    let items = try submissions.map { try $0.proto() }
    let request = Baton_V1_SubmitRequest.with {
      ($0.items, $0.principal) = (items, submitter)
      if let parent = submissions.first?.traceparent { $0.traceparent = parent }
    }
    let answers = try await calls.call { operators, metadata in
      try await operators.submit(request, metadata: metadata, options: CoordinatorClient.callOptions).answers
    }
    guard answers.count == submissions.count else {
      throw JobClientError(
        .unexpectedAnswer,
        "the coordinator answered only \(answers.count) of \(submissions.count) submissions: look at 'baton list'")
    }
    return try answers.map { answer in
      answer.hasAccepted
        ? .success(try wired { try AcceptedSubmission(answer.accepted) })
        : .failure(JobClientError(refusal: answer.refused.code, answer.refused.message))
    }
  }

  /// Cancels a request. That is final, and ends what repeats.
  ///
  /// A running launch is asked to stop, and saves its last batch. If the connection breaks during the call, the call is
  /// repeated, and its answer may then lack requests that the first attempt has ended.
  /// - Parameter name: a request; without a number, the live and the waiting request of the identifier.
  /// - Returns: what was cancelled; empty if all had ended.
  /// - Throws: `JobClientError`, for example `.notFound`.
  @discardableResult
  public func cancel(_ name: JobRequest.Name) async throws -> [CancelledRequest] {
    let identifier = try Self.identifier(name.identifier)
    let request = Baton_V1_CancelRequest.with {
      ($0.identifier, $0.principal) = (identifier.rawValue, submitter)
      if let number = name.number { $0.number = Int64(number) }
    }
    let cancelled = try await calls.call { operators, metadata in
      try await operators.cancel(request, metadata: metadata, options: CoordinatorClient.callOptions).cancelled
    }
    return cancelled.map {
      CancelledRequest(
        request: JobRequest.Name($0.identifier, number: Int($0.number)),
        stoppingOn: $0.hasStoppingOn ? $0.stoppingOn : nil)
    }
  }

  /// Reads an answer, and turns what this version does not understand into a `JobClientError`.
  func wired<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as WireError { throw JobClientError(.unexpectedAnswer, error.message) }
  }
}
