package import BatonModel

/// What the end of a request means for the requests that wait for it, and for those that wait for these.
package struct FlowNews: Hashable, Sendable {
  /// The requests that wait for no other one any more, each with the time at which it may start.
  package var released: [Followed] = []
  /// The requests that were cancelled because what they wait for cannot happen any more.
  package var cancelled: [Cancellation] = []

  mutating func add(_ other: FlowNews) {
    released += other.released
    cancelled += other.cancelled
  }
}

/// The place of a new request in a flow.
struct FlowPlace {
  /// The number of the flow; `nil` for its first request, which gives it its number.
  var flow: RequestID?
  var waits: [Wait]

  struct Wait {
    var awaited: RequestID
    var end: Dependency.End
  }
}

extension FlowPlan {
  /// The place of a member among those that were submitted before it.
  /// - Parameter requests: the request of each member that was submitted, by its position.
  func place(of member: Int, among requests: [Int: RequestID]) -> FlowPlace {
    FlowPlace(
      flow: order.first.flatMap { requests[$0] },
      waits: waits[member].compactMap { wait in
        requests[wait.member].map { FlowPlace.Wait(awaited: $0, end: wait.end) }
      })
  }
}

// MARK: Submitting

extension Verbs {
  /// Submits all members of a flow, or none. Each waits for those that `after` of its definition names.
  /// - Returns: the answers in the order of the offers. If one is refused, all are.
  package func submitFlow(_ offers: [SubmissionOffer], at now: Moment) throws -> [SubmissionAnswer] {
    if let earlier = try earlierAnswers(to: offers) { return earlier }
    var members: [(offer: SubmissionOffer, definition: FrozenDefinition)] = []
    for offer in offers {
      switch try flowMember(offer, besides: members.map(\.definition)) {
      case .success(let definition): members.append((offer, definition))
      case .failure(let refusal): return Self.refusing(offers, because: refusal.refusal, of: offer)
      }
    }
    let plan: FlowPlan
    do throws(FlowProblem) {
      plan = try FlowPlan(members.map { FlowPlan.Member($0.offer.submission.identifier, of: $0.definition.definition) })
    } catch {
      return offers.map { .refused(.unusable($0.submission.identifier, DefinitionProblem("after", "\(error)"))) }
    }
    var answers: [Int: SubmissionAnswer] = [:]
    var requests: [Int: RequestID] = [:]
    for position in plan.order {
      let (offer, definition) = members[position]
      var new = NewRequest(offer.submission, definition, at: now)
      new.place = plan.place(of: position, among: requests)
      let answer = try accept(offer, new, try identifier(offer.submission.identifier), at: now)
      guard case .accepted(var receipt, let requirementClass, _, _) = answer else { continue }
      requests[position] = receipt.request
      receipt.flow = new.place?.flow ?? receipt.request
      answers[position] = .accepted(receipt, class: requirementClass, launch: nil, isRepeat: false)
    }
    return offers.indices.compactMap { answers[$0] }
  }

  /// The answers that were given to these ids before; `nil` if the flow is new. All members of a flow are stored
  /// together, so either all ids are known or none is, unless ids are used for another flow.
  private func earlierAnswers(to offers: [SubmissionOffer]) throws -> [SubmissionAnswer]? {
    let earlier = try offers.map { try earlierAnswer(to: $0.submission.id) }
    guard earlier.contains(where: { $0 != nil }) else { return nil }
    let known = zip(earlier, offers).allSatisfy { $0?.isAbout($1.submission.identifier) == true }
    return known ? earlier.compactMap { $0 } : offers.map { .refused(.usedID($0.submission.id)) }
  }

  private struct Refused: Error { var refusal: Refusal }

  /// The definition of a member, or why it cannot be submitted.
  /// - Parameter others: the definitions of the members before it.
  private func flowMember(
    _ offer: SubmissionOffer, besides others: [FrozenDefinition]
  ) throws -> Result<FrozenDefinition, Refused> {
    let submission = offer.submission
    if let refusal = offer.refusal ?? objection(to: submission) { return .failure(Refused(refusal: refusal)) }
    guard let definition = try frozen(offer.definition), try pattern(definition.pattern).definition != nil else {
      return .failure(Refused(refusal: .notPermitted(submission.identifier, nearest: nil)))
    }
    if try identifier(submission.identifier)?.waiting == nil,
      let refusal = try tooManyPending(definition, besides: others)
    {
      return .failure(Refused(refusal: refusal))
    }
    return .success(definition)
  }

  private static func refusing(
    _ offers: [SubmissionOffer], because refusal: Refusal, of refused: SubmissionOffer
  ) -> [SubmissionAnswer] {
    let name = refused.submission.identifier
    return offers.map { offer in
      .refused(
        offer.submission.id == refused.submission.id
          ? refusal : .unavailable("nothing of the flow was submitted, because \(name) was refused"))
    }
  }

  /// Writes what a new member of a flow waits for.
  func noteWaits(_ place: FlowPlace, of request: Int64) throws {
    for (position, wait) in place.waits.enumerated() {
      try prepare(.insertDependency).run(request, wait.awaited.rawValue, wait.end.code, position)
      try prepare(.noteAwaited).run(wait.awaited.rawValue)
    }
  }

  /// Removes what the request waits for, because another submission takes its place.
  func dropWaits(of waiting: IdentifierRow.Waiting) throws {
    guard waiting.waitsFor > 0 || waiting.flow != nil else { return }
    try need(.dependencies(RequestID(waiting.id)))
    try prepare(.dropDependencies).run(waiting.id)
  }
}

// MARK: Ends

extension Verbs {
  /// Tells the requests that wait for a request that it has ended. Those that wait for no other one any more can start;
  /// those for which it has ended otherwise than they ask are cancelled, and so on.
  /// - Parameter isAwaited: whether any request waits for it, by its row.
  func passOn(
    _ state: RequestState, of request: RequestID, isAwaited: Bool, at now: Moment
  ) throws -> FlowNews {
    var news = FlowNews()
    guard state.isEnded, isAwaited else { return news }
    var ends = [(request: request, state: state)]
    while !ends.isEmpty {
      let end = ends.removeFirst()
      try need(.dependencies(end.request))
      let waits = try prepare(.openWaits).all(end.request.rawValue) { row in
        (request: RequestID(row.int64(0)), end: Dependency.End(code: row.int(1)))
      }
      // One load for all of them, where many wait.
      if waits.count > 1 { try need(.dependents(end.request)) }
      for wait in waits {
        try need(.identifierOf(wait.request))
        try need(.dependencies(wait.request))
        let isMet = wait.end.isMet(by: end.state)
        try prepare(.closeWait).run(isMet ? 1 : 2, end.state.code, wait.request.rawValue, end.request.rawValue)
        try prepare(.countWait).run(wait.request.rawValue)
        if isMet {
          if let released = try goOn(wait.request, at: now) { news.released.append(released) }
        } else if let cancelled = try cancel(wait.request, after: end.request, end.state, at: now) {
          news.cancelled.append(.ended(wait.request, cancelled.identifier, number: cancelled.number))
          if cancelled.isAwaited { ends.append((wait.request, .cancelled)) }
        }
      }
    }
    return news
  }

  /// Decides again when a request may start.
  /// - Returns: `nil` if the request waits for another one, or has ended.
  private func goOn(_ request: RequestID, at now: Moment) throws -> Followed? {
    guard let waiting = try prepare(.waitingRequestByID).first(request.rawValue, row: Self.waiting),
      waiting.waitsFor == 0, !waiting.isResumption
    else { return nil }
    let readiness = try reconsider(waiting, from: .scheduled, at: now)
    return Followed(request: request, requirementClass: waiting.requirementClass, due: readiness.due)
  }

  /// Cancels a request because one that it waits for has ended otherwise than it asks.
  /// - Returns: `nil` if the request has ended already.
  private func cancel(
    _ request: RequestID, after awaited: RequestID, _ state: RequestState, at now: Moment
  ) throws -> Unfinished? {
    let found = try prepare(.unfinishedRequest).all(request.rawValue, row: Self.unfinished).first
    guard let waiting = found, waiting.launches == 0 else { return nil }
    let name = try prepare(.nameOfRequest).first(awaited.rawValue) { "\($0.text(0)) (request \($0.int(1)))" }
    try prepare(.cancelRequest).run(
      Self.flowPrincipal, now.date, now.steady, "\(name ?? "another request") \(state.predicate)", String?.none,
      request.rawValue)
    // A request can be cancelled by its flow several times before its first launch. Its span tells of the first time.
    if try prepare(.hasFirstCompletion).first(request.rawValue, row: { _ in true }) != true {
      try queueSpans(.complete, of: request.rawValue, launch: 0, isSampled: waiting.isSampled)
    }
    try count(pattern: try knownDefinition(waiting.definition).pattern, from: waiting.state, to: .cancelled)
    // The request may have taken the place of one of a backfill.
    try endBackfill(of: waiting.identifierID)
    return waiting
  }

  /// Who cancels a request of which a dependency cannot be met any more.
  package static let flowPrincipal = "flow"
}

extension RequestRecord {
  /// Whether the request was cancelled because something that it waits for cannot happen any more.
  package var isCancelledByFlow: Bool { state == .cancelled && ledger.cancelledBy == Verbs.flowPrincipal }
}

// MARK: Cancelling

extension Verbs {
  /// Cancels the members of a flow. What waits for others goes before these, so that no end of one releases another.
  func cancelFlow(_ flow: RequestID, _ order: CancelOrder, at now: Moment) throws -> [Cancellation] {
    try need(.flow(flow))
    var remaining = try prepare(.unfinishedOfFlow).all(flow.rawValue) { $0.int64(0) }
    var waits = try prepare(.openWaitsOfFlow).all(flow.rawValue) { row in
      (request: row.int64(0), awaited: row.int64(1))
    }
    var cancelled: [Cancellation] = []
    while !remaining.isEmpty {
      let awaited = Set(waits.map(\.awaited))
      let last = remaining.filter { !awaited.contains($0) }
      // Waits have no circles, so there is always a member that no other one waits for.
      let step = last.isEmpty ? remaining : last
      cancelled += try each(step) { request in
        try cancel(prepare(.unfinishedRequest).all(request, row: Self.unfinished), order, now)
      }.flatMap(\.self)
      remaining.removeAll(where: Set(step).contains)
      waits.removeAll { step.contains($0.request) }
    }
    return cancelled
  }
}

// MARK: Retrying

extension Verbs {
  /// Lets a flow go on from a request that is retried: the requests that were cancelled because it had failed wait for
  /// it again, and so do those that were cancelled because of these. What has succeeded stays as it is.
  /// - Returns: the requests that wait again.
  func resumeFlow(from retried: RequestID, at now: Moment) throws -> [RequestID] {
    var resumed: [RequestID] = []
    var awaited = [retried]
    while !awaited.isEmpty {
      let next = awaited.removeFirst()
      try need(.dependencies(next))
      let broken = try prepare(.brokenWaits).all(next.rawValue) { RequestID($0.int64(0)) }
      if broken.count > 1 { try need(.dependents(next)) }
      for request in broken where try waitAgain(request, for: next, at: now) {
        resumed.append(request)
        awaited.append(request)
      }
    }
    return resumed
  }

  /// - Returns: false if the request was not cancelled by its flow, if another request of its identifier waits now, or
  ///   if something else that it waits for cannot happen.
  private func waitAgain(_ request: RequestID, for awaited: RequestID, at now: Moment) throws -> Bool {
    try need(.identifierOf(request))
    try need(.dependencies(request))
    let row = try prepare(.cancelledByFlow).first(request.rawValue, Self.flowPrincipal) { row in
      (identifier: JobIdentifier(trusted: row.text(0)), definition: DefinitionID(row.int64(1)), number: row.int(2))
    }
    guard let row else { return false }
    guard try identifier(row.identifier)?.waiting == nil else {
      try note(
        .notFollowed, detail: "\(row.identifier) (request \(row.number)): a later request of it waits",
        of: awaited.rawValue, at: now)
      return false
    }
    try prepare(.reopenWait).run(request.rawValue, awaited.rawValue)
    guard try prepare(.isBroken).first(request.rawValue, row: { _ in true }) != true else { return false }
    try prepare(.keepFirstCompletion).run(request.rawValue)
    try prepare(.waitAgain).run(Timestamp.distantFuture, request.rawValue)
    try note(.retried, detail: nil, of: request.rawValue, at: now)
    try count(pattern: try knownDefinition(row.definition).pattern, from: .cancelled, to: .scheduled)
    return true
  }
}

// MARK: Reading

extension Verbs {
  /// The members of a flow, without cursors and payloads, in the order of their numbers.
  package func members(of flow: RequestID) throws -> [RequestRecord] {
    try prepare(.members).all(flow.rawValue, row: Self.record).compactMap { try complete($0) }
  }

  /// A page of a list of the requests of one flow.
  func page(
    of filter: RequestFilter, in flow: RequestID, after: RequestID?, limit: Int
  ) throws -> ListedRequests {
    let found = try members(of: flow).filter(filter.matches).sorted(by: filter.order.precedes)
    let start = after.flatMap { id in found.firstIndex { $0.id == id } }.map { $0 + 1 } ?? 0
    return ListedRequests(first: limit, of: Array(found.dropFirst(start)))
  }

  /// What the request waits for, or has waited for, in the order of their numbers.
  func awaited(by request: RequestID) throws -> [AwaitedRequest] {
    try need(.dependencies(request))
    return try prepare(.awaitedRequests).all(request.rawValue) { row in
      AwaitedRequest(
        request: RequestID(row.int64(0)), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
        end: Dependency.End(code: row.int(3)), state: AwaitedRequest.State(code: row.int(4)))
    }
  }
}

extension Dependency.End {
  /// The number in the column `dependency.ending`.
  var code: Int {
    switch self {
    case .success: 0
    case .failure: 1
    case .any: 2
    }
  }

  init(code: Int) { self = Self.allCases.first { $0.code == code } ?? .success }
}

extension AwaitedRequest.State {
  /// - Parameter code: the number in the column `dependency.state`.
  fileprivate init(code: Int) { self = code == 0 ? .open : code == 1 ? .met : .broken }
}

extension Query {
  static let insertDependency = Query(
    """
    INSERT INTO dependency (request, awaited, ending, position, trace_id, span_id)
    SELECT ?1, id, ?3, ?4, trace_id, span_id FROM request WHERE id = ?2
    """)
  static let unfinishedOfFlow = Query(
    "SELECT id FROM request WHERE flow = ? AND state <= 2 AND head IS NULL ORDER BY id")
  static let openWaitsOfFlow = Query(
    """
    SELECT d.request, d.awaited FROM request r JOIN dependency d ON d.request = r.id
    WHERE r.flow = ? AND d.state = 0
    """)
  static let dropDependencies = Query("DELETE FROM dependency WHERE request = ?")
  static let noteAwaited = Query("UPDATE request SET is_awaited = 1 WHERE id = ?")
  static let openWaits = Query(
    "SELECT request, ending FROM dependency WHERE awaited = ? AND state = 0 ORDER BY request")
  static let brokenWaits = Query("SELECT request FROM dependency WHERE awaited = ? AND state = 2 ORDER BY request")
  static let closeWait = Query("UPDATE dependency SET state = ?, ended_as = ? WHERE request = ? AND awaited = ?")
  static let countWait = Query(
    """
    UPDATE request SET waits_for = (SELECT count(*) FROM dependency d WHERE d.request = ?1 AND d.state = 0)
    WHERE id = ?1
    """)
  static let nameOfRequest = Query(
    "SELECT i.name, r.number FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.id = ?")
  static let cancelledByFlow = Query(
    """
    SELECT i.name, r.definition, r.number FROM request r JOIN identifier i ON i.id = r.identifier
    WHERE r.id = ? AND r.state = 5 AND r.launches = 0 AND r.cancelled_by = ?
    """)
  static let reopenWait = Query("UPDATE dependency SET state = 0, ended_as = NULL WHERE request = ? AND awaited = ?")
  static let isBroken = Query("SELECT 1 FROM dependency WHERE request = ? AND state = 2 LIMIT 1")
  static let hasFirstCompletion = Query("SELECT 1 FROM completion WHERE request = ? AND launches = 0")
  static let keepFirstCompletion = Query(
    """
    INSERT INTO completion (request, launches, state, reason, ended_at)
    SELECT id, launches, state, reason, ended_at FROM request WHERE id = ?
    ON CONFLICT (request, launches) DO NOTHING
    """)
  static let waitAgain = Query(
    """
    UPDATE request SET state = 0, cause = 3, eligible_at = ?1, ended_at = NULL, ended_steady = NULL, outcome = NULL,
      reason = NULL, cancelled_by = NULL, ready_at = NULL,
      waits_for = (SELECT count(*) FROM dependency d WHERE d.request = ?2 AND d.state = 0)
    WHERE id = ?2
    """)
  static let members = Query(
    "\(recordColumns(withBlobs: false)) FROM request r \(recordJoins) WHERE r.flow = ? AND r.head IS NULL ORDER BY r.id"
  )
  static let awaitedRequests = Query(
    """
    SELECT a.id, i.name, a.number, d.ending, d.state
    FROM dependency d JOIN request a ON a.id = d.awaited JOIN identifier i ON i.id = a.identifier
    WHERE d.request = ? ORDER BY a.id
    """)
}
