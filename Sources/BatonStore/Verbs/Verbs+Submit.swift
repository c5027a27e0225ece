package import BatonModel

/// A submission with the definition that applies to its identifier and, if one is free, a host on which it may start at
/// once.
package struct SubmissionOffer: Hashable, Sendable {
  package var submission: Submission
  package var definition: DefinitionID
  package var host: Offer?
  /// Why the submission is refused unless its id is known already, for example because of strategy `fail` and no free
  /// host; `nil` if the coordinator found no reason.
  package var refusal: Refusal?
  /// What kept the requests of the class waiting. It is needed if the submission replaces a request that was waiting
  /// and starts at once.
  package var history: WaitHistory?

  /// The place that the dispatcher reserved for the submission's first launch.
  package struct Offer: Hashable, Sendable {
    package var lease: HostLease
    package var gpus: [Int]
    /// The span id of the launch, if the submission starts one.
    package var spanID: SpanID
    package init(lease: HostLease, gpus: [Int], spanID: SpanID) {
      self.lease = lease
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(
    submission: Submission, definition: DefinitionID, host: Offer? = nil, refusal: Refusal? = nil,
    history: WaitHistory? = nil
  ) {
    self.history = history
    self.submission = submission
    self.definition = definition
    self.host = host
    self.refusal = refusal
  }
}

/// The request that a submission made, replaced or joined.
package struct SubmissionReceipt: Hashable, Sendable {
  package var request: RequestID
  package var identifier: JobIdentifier
  package var number: Int
  package var state: RequestState
  /// The earliest time of the first launch on the wall clock, as far as it could be foreseen when the submission was
  /// accepted.
  package var eligibleAt: Timestamp
  /// True if a waiting request was replaced. The request kept its number, and an event `replaced` was added to its
  /// trace. Also true for a poke that joined a waiting request.
  package var replaced: Bool
  /// When to promote the request; empty in an answer that is repeated.
  package var due: NextDue
  /// The trace id of the request (16 bytes), whichever submission made the request. `nil` in the answer to a repeated
  /// id if the request is not kept any more.
  package var traceID: TraceID?
  /// The number of the flow in which the request was submitted; `nil` if it was submitted alone.
  package var flow: RequestID?

  package init(
    request: RequestID, identifier: JobIdentifier, number: Int, state: RequestState, eligibleAt: Timestamp,
    replaced: Bool, due: NextDue = NextDue(), traceID: TraceID? = nil
  ) {
    self.traceID = traceID
    self.request = request
    self.identifier = identifier
    self.number = number
    self.state = state
    self.eligibleAt = eligibleAt
    self.replaced = replaced
    self.due = due
  }
}

/// The answer to a submission.
package enum SubmissionAnswer: Hashable, Sendable {
  /// `launch` is set if the request was started on the offered host. `isRepeat` is true if the id of the submission was
  /// known already.
  case accepted(SubmissionReceipt, class: RequirementClass, launch: Assignment?, isRepeat: Bool)
  case refused(Refusal)
}

extension Verbs {
  package func submit(_ offers: [SubmissionOffer], at now: Moment) throws -> [SubmissionAnswer] {
    if held != nil {
      try needLimits(
        offers.filter { $0.host != nil }.flatMap {
          try frozen($0.definition)?.definition.limitKeys(of: $0.submission.identifier) ?? []
        })
    }
    return try each(offers) { try submit($0, at: now) }
  }

  /// Answers one submission. The order of the checks matters: a known id is answered before anything else.
  private func submit(_ offer: SubmissionOffer, at now: Moment) throws -> SubmissionAnswer {
    let submission = offer.submission
    if let answer = try earlierAnswer(to: submission.id) {
      return answer.isAbout(submission.identifier) ? answer : .refused(.usedID(submission.id))
    }
    let definition = try frozen(offer.definition)
    let mustStart = definition?.definition.strategy == .fail
    // A submission that must start at once continues, because its refusal also names the obstacles in the store
    // (below).
    if let refusal = offer.refusal, !mustStart { return .refused(refusal) }
    if let refusal = objection(to: submission) { return .refused(refusal) }
    guard let definition, try pattern(definition.pattern).definition != nil else {
      return .refused(.notPermitted(submission.identifier, nearest: nil))
    }
    let known = try identifier(submission.identifier)
    let new = NewRequest(submission, definition, at: now)
    if mustStart, let refusal = try refusalToWait(offer, new, known, at: now) { return .refused(refusal) }
    if known?.waiting == nil, let refusal = try tooManyPending(definition) { return .refused(refusal) }
    return try accept(offer, new, known, at: now)
  }

  /// Makes the request, and starts it if a host is offered and nothing keeps the request from starting there.
  func accept(
    _ offer: SubmissionOffer, _ new: NewRequest, _ known: IdentifierRow?, at now: Moment
  ) throws -> SubmissionAnswer {
    let enqueued = try enqueue(new, as: known, at: now)
    var receipt = enqueued.receipt
    let requirementClass = RequirementClass(definition: new.definition.id, priority: new.priority)
    var assignment: Assignment?
    if receipt.state == .ready, let place = offer.host, let host = try holder(place.lease),
      try !isEvicted(new.identifier, from: host), try wordAgainst(launchesOn: host) == nil,
      new.definition.definition.transfers == nil, try room(for: new.definition.id) > 0,
      try keysPermit(new.identifier, new.definition, at: now)
    {
      assignment = try start(
        candidate(new, enqueued), on: host, place.lease.incarnation, place.place, waits: WaitTexts(offer.history),
        at: now)
      receipt.state = .running
      receipt.due.join(try dueOfKeys(of: new.identifier, new.definition.id))
    }
    try remember(offer.submission, receipt, of: enqueued.identifierID, requirementClass, at: now)
    return .accepted(receipt, class: requirementClass, launch: assignment, isRepeat: false)
  }

  /// The candidate for the first launch. A request that was just inserted is known and not read again. A request that
  /// replaced another one has a trace and a time of its own, which are read from its row.
  private func candidate(_ new: NewRequest, _ enqueued: Enqueued) throws -> Candidate {
    enqueued.receipt.replaced
      ? try readyCandidate(enqueued.receipt.request) : Candidate(new, enqueued.receipt, enqueued.identifierID)
  }

  /// The answer that was given to this id before, whatever has become of the request since; `nil` if the id is not
  /// known. A launch that was part of that answer is not repeated, because it was assigned at that time.
  func earlierAnswer(to id: String) throws -> SubmissionAnswer? {
    try need(.submission(ByteText(id)))
    return try prepare(.submission).first(id) { row in
      var receipt = SubmissionReceipt(
        request: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
        state: RequestState(code: row.int(5)), eligibleAt: row.time(6), replaced: row.bool(7),
        traceID: row.optionalTraceID(8))
      receipt.flow = row.optionalInt64(9).map(RequestID.init)
      let requirementClass = RequirementClass(
        definition: DefinitionID(row.int64(3)), priority: Priority(code: row.int(4)))
      return .accepted(receipt, class: requirementClass, launch: nil, isRepeat: true)
    }
  }

  /// Stores the answer under the submission's id, so that a retry gets it again.
  private func remember(
    _ submission: Submission, _ receipt: SubmissionReceipt, of identifier: Int64,
    _ requirementClass: RequirementClass, at now: Moment
  ) throws {
    let id = try draw(.submission)
    try prepare(.insertSubmission).run(
      id, submission.id, now.steady, receipt.request.rawValue, identifier,
      receipt.number,
      requirementClass.definition.rawValue, requirementClass.priority.rawValue, receipt.state.code, receipt.eligibleAt,
      receipt.replaced)
    try rememberPoke(submission, id, for: receipt.request, at: now)
    try rememberJoining(submission, receipt)
  }

  /// Why the submission itself is not valid; `nil` if it is.
  func objection(to submission: Submission) -> Refusal? {
    let payload = submission.payload?.count ?? 0
    if payload > Submission.maximumPayloadBytes {
      return .unavailable(
        "the payload of \(submission.identifier) has \(payload) bytes; a payload has at most "
          + "\(Submission.maximumPayloadBytes): pass the name of a file instead")
    }
    guard (1...64).contains(submission.id.utf8.count) else {
      return .unavailable("a submission id has 1 to 64 bytes, this one has \(submission.id.utf8.count)")
    }
    return nil
  }

  /// The largest number of requests that other coordinators may be accepting at this moment: a group each.
  private static let uncounted = 16 * WriteQueue.largestGroup

  /// The refusal if the definition, its namespace or the whole store has too many pending requests; otherwise `nil`.
  /// - Parameter others: the definitions of the requests that are accepted with this one, and before it.
  func tooManyPending(_ definition: FrozenDefinition, besides others: [FrozenDefinition] = []) throws -> Refusal? {
    let (own, ownLimit) = (
      try pattern(definition.pattern).pending + others.count { $0.pattern == definition.pattern },
      definition.definition.pendingLimit ?? limits.pendingPerDefinition
    )
    // Other groups may be accepting requests of which nothing is counted yet.
    if own + Self.uncounted >= ownLimit { try need(.lockedPattern(definition.pattern)) }
    if own >= ownLimit { return .tooManyPending(limit: "pendingLimit", allowed: ownLimit, pending: own) }
    if let refusal = try tooManyPendingInNamespace(definition, besides: others, uncounted: Self.uncounted) {
      return refusal
    }
    let all = try pendingInAll() + others.count
    if all + Self.uncounted >= limits.pending { try need(.everything) }
    if all >= limits.pending { return .tooManyPending(limit: "limits.pending", allowed: limits.pending, pending: all) }
    return nil
  }
}

extension Candidate {
  /// A request that was just inserted: it has no launch and no progress.
  fileprivate init(_ new: NewRequest, _ receipt: SubmissionReceipt, _ identifierID: Int64) {
    self.init(
      request: receipt.request, identifierID: identifierID, identifier: new.identifier, number: receipt.number,
      definition: new.definition.id, priority: new.priority, launches: 0, principal: new.principal,
      earliest: new.earliest, poke: new.poke, frozenItems: nil, trace: new.trace, progress: Progress(),
      payload: new.payload)
  }
}

extension NewRequest {
  init(_ submission: Submission, _ frozen: FrozenDefinition, at now: Moment) {
    let definition = frozen.definition
    let wish = submission.earliestBeginDate ?? definition.earliestBeginDate
    self.init(
      identifier: submission.identifier, definition: frozen, priority: submission.priority ?? definition.priority,
      payload: submission.payload,
      // A poke asks for a start now, whatever the definition's date is (contract, row 41).
      earliest: Earliest(submission.poke == nil ? definition.allowed(wish) : nil, submittedAt: now),
      principal: submission.principal, trace: submission.trace, parentSpanID: submission.parentSpanID,
      poke: submission.poke)
  }
}

extension SubmissionAnswer {
  /// Whether an earlier answer is for `identifier`. Always true for a refusal, which names no identifier.
  func isAbout(_ identifier: JobIdentifier) -> Bool {
    if case .accepted(let receipt, _, _, _) = self { receipt.identifier == identifier } else { true }
  }
}

extension Refusal {
  /// The refusal of an id that was used for another identifier. Repeating the earlier answer would silently drop this
  /// submission.
  package static func usedID(_ id: String) -> Refusal {
    .unavailable(
      "the id '\(id)' was already used for a submission of another identifier: use a new id for each submission")
  }
}

extension Query {
  static let submission = Query(
    """
    SELECT s.request, i.name, s.number, s.definition, s.priority, s.state, s.eligible_at, s.replaced,
      r.trace_id, r.flow
    FROM submission s JOIN identifier i ON i.id = s.identifier LEFT JOIN request r ON r.id = s.request
    WHERE s.key = ?
    """)
  static let insertSubmission = Query(
    """
    INSERT INTO submission (id, key, at, request, identifier, number, definition, priority, state, eligible_at,
      replaced)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
}
