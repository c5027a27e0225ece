internal import BatonBase
package import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A request that the end of another one has submitted.
package struct Followed: Hashable, Sendable {
  package var request: RequestID
  package var requirementClass: RequirementClass
  /// When to promote the request.
  package var due: NextDue
}

/// What `onSuccess` and `onFailure` of a definition submit when a request ends.
extension Verbs {
  /// Submits the job that the definition of a request names for this end, in the transaction that ends the request, so
  /// that no crash can lose it. The history of the ended request says what was submitted, or why nothing was.
  /// - Parameters:
  ///   - failure: the kind of the failure, if the request failed and it is known.
  ///   - launches: how many launches the request had, those of all shards.
  /// - Returns: `nil` if nothing was submitted.
  func followUp(
    of request: LaunchedRequest, _ state: RequestState, failure: String?, launches: Int, at now: Moment
  ) throws -> Followed? {
    let definition = try knownDefinition(request.requirementClass.definition).definition
    let outcome: (state: EndedJob.State, next: JobReference?) =
      switch state {
      case .succeeded: (.succeeded, definition.onSuccess)
      case .failed: (.failed, definition.onFailure)
      case .scheduled, .ready, .running, .cancelled: (.succeeded, nil)
      }
    guard let next = outcome.next else { return nil }
    let row = try prepare(.endedRequest).first(request.whole.rawValue) { row in
      (principal: row.text(0), reason: row.optionalText(1), followed: row.int(2))
    }
    guard let row else { return nil }
    let job = EndedJob(
      identifier: request.identifier, request: request.number, state: outcome.state,
      reason: outcome.state == .failed ? row.reason : nil, failure: outcome.state == .failed ? failure : nil,
      launches: launches, endedAt: now.date.rfc3339, trace: request.trace.map { "\($0.traceID)" })
    let name = next.identifier(for: request.identifier, of: definition.pattern)
    let result = outcome.state == .succeeded && !request.isSpread ? try result(of: request.id) : nil
    switch try submit(name, after: job, result, request, row.principal, followed: row.followed, at: now) {
    case .success(let followed): return followed
    case .failure(let problem):
      let detail = "\(name?.rawValue ?? next.text): \(problem.text)"
      try note(.notFollowed, detail: detail, of: request.whole.rawValue, at: now)
      return nil
    }
  }

  /// Why nothing was submitted.
  private struct Problem: Error { var text: String }

  private func submit(
    _ name: JobIdentifier?, after job: EndedJob, _ result: JobResult?, _ request: LaunchedRequest,
    _ principal: String, followed: Int, at now: Moment
  ) throws -> Result<Followed, Problem> {
    guard followed < JobReference.longestRow else {
      return .failure(Problem(text: "\(followed) requests have followed each other already, which is the limit"))
    }
    guard let name else {
      return .failure(Problem(text: "the identifier would be too long"))
    }
    guard let definition = try applied(for: name) else {
      return .failure(Problem(text: "no definition is applied for it"))
    }
    do throws(DefinitionProblem) {
      try definition.definition.validate(name)
    } catch {
      return .failure(Problem(text: "its definition cannot be run: \(error)"))
    }
    let known = try identifier(name)
    if known?.waiting == nil, try tooManyPending(definition) != nil {
      return .failure(Problem(text: "too many of its requests are pending already"))
    }
    guard let trace = request.trace, let payload = try? job.payload(result) else {
      return .failure(Problem(text: "the request had no launch"))
    }
    let new = NewRequest(
      identifier: name, definition: definition, priority: definition.definition.priority, payload: payload,
      earliest: Earliest(definition.definition.allowed(definition.definition.earliestBeginDate), submittedAt: now),
      principal: principal, trace: trace.followUp, parentSpanID: trace.spanID, followed: followed + 1)
    let receipt = try enqueue(new, as: known, at: now).receipt
    try note(.followed, detail: "\(name) (request \(receipt.number))", of: request.whole.rawValue, at: now)
    return .success(
      Followed(
        request: receipt.request,
        requirementClass: RequirementClass(definition: definition.id, priority: new.priority), due: receipt.due))
  }

  /// The applied definition for an identifier: its own, or that of the wildcard above it; `nil` if there is none.
  func applied(for name: JobIdentifier) throws -> FrozenDefinition? {
    for pattern in name.patterns {
      try need(.patternNamed(pattern))
      let found = try prepare(.appliedDefinition).first(pattern.rawValue) { DefinitionID($0.int64(0)) }
      if let found { return try knownDefinition(found) }
    }
    return nil
  }
}

extension JobIdentifier {
  /// The patterns that match this identifier, the most special one first.
  fileprivate var patterns: [IdentifierPattern] {
    var patterns = [IdentifierPattern(self)]
    var rest = Substring(rawValue)
    while let dot = rest.lastIndex(of: ".") {
      rest = rest[..<dot]
      patterns.append(IdentifierPattern(trusted: rest + ".*"))
    }
    return patterns
  }
}

extension TraceContext {
  /// The context of a request that the end of this launch submits: it belongs to the same trace. Its span id is mixed
  /// from that of the launch, because the store draws no random numbers.
  fileprivate var followUp: TraceContext {
    // An id of only zeros is not valid.
    let span = SplitMix64.first(seed: spanID.number ^ traceID.low ^ 0x666F_6C6C_6F77) | 1
    return TraceContext(traceID: traceID, spanID: SpanID(span), isSampled: isSampled)
  }
}

extension EndedJob {
  /// The facts as JSON, with the result as the last member. A result with which the payload would be too large is left
  /// out, and its size is there in its place.
  fileprivate func payload(_ result: JobResult?) throws -> [UInt8] {
    let facts = Array(try JSONEncoder.sorted.encode(self))
    guard let result else { return facts }
    let whole = facts.dropLast() + Array(",\"result\":".utf8) + result.json + [UInt8(ascii: "}")]
    if whole.count <= Submission.maximumPayloadBytes { return Array(whole) }
    return facts.dropLast() + Array(",\"resultBytes\":\(result.json.count)}".utf8)
  }
}

extension JSONEncoder {
  fileprivate static var sorted: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}

extension Query {
  static let endedRequest = Query("SELECT principal, reason, followed FROM request WHERE id = ?")
  static let appliedDefinition = Query("SELECT definition FROM pattern WHERE name = ? AND definition IS NOT NULL")
}
