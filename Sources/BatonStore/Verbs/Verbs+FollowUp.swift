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
  /// The identifier and the number, for the history of the request that has ended.
  var text = ""
}

/// What `onSuccess` and `onFailure` of a definition submit when a request ends.
extension Verbs {
  /// Submits the jobs that the definition of a request names for this end, in the transaction that ends the request, so
  /// that no crash can lose them. Several are submitted as a flow: all of them, or none. The history of the ended
  /// request says what was submitted, or why nothing was.
  /// - Parameters:
  ///   - failure: the kind of the failure, if the request failed and it is known.
  ///   - launches: how many launches the request had, those of all shards.
  /// - Returns: what was submitted; each request comes after those that it waits for.
  func followUp(
    of request: LaunchedRequest, _ state: RequestState, failure: String?, launches: Int, at now: Moment
  ) throws -> [Followed] {
    let definition = try knownDefinition(request.requirementClass.definition).definition
    let outcome: (state: EndedJob.State, next: FollowUp?) =
      switch state {
      case .succeeded: (.succeeded, definition.onSuccess)
      case .failed: (.failed, definition.onFailure)
      case .scheduled, .ready, .running, .cancelled: (.succeeded, nil)
      }
    guard let next = outcome.next else { return [] }
    let row = try prepare(.endedRequest).first(request.whole.rawValue) { row in
      (principal: row.text(0), reason: row.optionalText(1), followed: row.int(2))
    }
    guard let row else { return [] }
    let job = EndedJob(
      identifier: request.identifier, request: request.number, state: outcome.state,
      reason: outcome.state == .failed ? row.reason : nil, failure: outcome.state == .failed ? failure : nil,
      launches: launches, endedAt: now.date.rfc3339, trace: request.trace.map { "\($0.traceID)" })
    let result = outcome.state == .succeeded && !request.isSpread ? try result(of: request.id) : nil
    let ended = EndedRequest(
      job: job, result: result, trace: request.trace, principal: row.principal, followed: row.followed)
    let submitted =
      switch try members(of: next, after: request.identifier, definition.pattern) {
      case .success(let members): try submit(members, after: ended, at: now)
      case .failure(let problem): Result<[Followed], NotFollowed>.failure(problem)
      }
    switch submitted {
    case .success(let followed):
      for one in followed { try note(.followed, detail: one.text, of: request.whole.rawValue, at: now) }
      return followed
    case .failure(let problem):
      try note(.notFollowed, detail: problem.text, of: request.whole.rawValue, at: now)
      return []
    }
  }

  /// What is known of a request whose end submits others.
  private struct EndedRequest {
    var job: EndedJob
    var result: JobResult?
    var trace: TraceContext?
    var principal: String
    /// How many requests came before it, each of which was submitted by the end of the one before.
    var followed: Int
  }

  /// Why nothing was submitted.
  private struct NotFollowed: Error {
    var text: String
    init(_ text: String) { self.text = text }
    init(_ job: String, _ why: String) { text = "\(job): \(why)" }
  }

  /// The jobs that are meant, with their definitions.
  private func members(
    of next: FollowUp, after request: JobIdentifier, _ pattern: IdentifierPattern
  ) throws -> Result<[(name: JobIdentifier, definition: FrozenDefinition)], NotFollowed> {
    var members: [(name: JobIdentifier, definition: FrozenDefinition)] = []
    for job in next.jobs {
      guard let name = job.identifier(for: request, of: pattern) else {
        return .failure(NotFollowed(job.text, "the identifier would be too long"))
      }
      guard let definition = try applied(for: name) else {
        return .failure(NotFollowed(name.rawValue, "no definition is applied for it"))
      }
      do throws(DefinitionProblem) {
        try definition.definition.validate(name)
      } catch {
        return .failure(NotFollowed(name.rawValue, "its definition cannot be run: \(error)"))
      }
      if try identifier(name)?.waiting == nil,
        try tooManyPending(definition, besides: members.map(\.definition)) != nil
      {
        return .failure(NotFollowed(name.rawValue, "too many of its requests are pending already"))
      }
      members.append((name, definition))
    }
    return .success(members)
  }

  private func submit(
    _ members: [(name: JobIdentifier, definition: FrozenDefinition)], after ended: EndedRequest, at now: Moment
  ) throws -> Result<[Followed], NotFollowed> {
    guard ended.followed < JobReference.longestRow else {
      let why = "\(ended.followed) requests have followed each other already, which is the limit"
      return .failure(NotFollowed(members[0].name.rawValue, why))
    }
    guard let trace = ended.trace, let payload = try? ended.job.payload(ended.result) else {
      return .failure(NotFollowed(members[0].name.rawValue, "the request had no launch"))
    }
    var flow: FlowPlan?
    if members.count > 1 {
      do throws(FlowProblem) {
        flow = try FlowPlan(members.map { FlowPlan.Member($0.name, of: $0.definition.definition) })
      } catch {
        return .failure(NotFollowed("\(error)"))
      }
    }
    var followed: [Followed] = []
    var requests: [Int: RequestID] = [:]
    for (count, position) in (flow?.order ?? [0]).enumerated() {
      let (name, definition) = members[position]
      let wish = definition.definition.allowed(definition.definition.earliestBeginDate)
      var new = NewRequest(
        identifier: name, definition: definition, priority: definition.definition.priority, payload: payload,
        earliest: Earliest(wish, submittedAt: now), principal: ended.principal, trace: trace.followUp(count),
        parentSpanID: trace.spanID, followed: ended.followed + 1)
      new.place = flow?.place(of: position, among: requests)
      let receipt = try enqueue(new, as: try identifier(name), at: now).receipt
      requests[position] = receipt.request
      followed.append(
        Followed(
          request: receipt.request,
          requirementClass: RequirementClass(definition: definition.id, priority: new.priority), due: receipt.due,
          text: "\(name) (request \(receipt.number))"))
    }
    return .success(followed)
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
  /// - Parameter index: how many requests the end has submitted before.
  fileprivate func followUp(_ index: Int) -> TraceContext {
    let first = SplitMix64.first(seed: spanID.number ^ traceID.low ^ 0x666F_6C6C_6F77)
    // An id of only zeros is not valid.
    let span = (index == 0 ? first : SplitMix64.first(seed: first ^ UInt64(index))) | 1
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
