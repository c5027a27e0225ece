internal import BatonModel

extension Verbs {
  /// Reads a request that is known to be ready. Throws `.corrupt` if it is not there.
  func readyCandidate(_ request: RequestID) throws -> Candidate {
    try need(.identifierOf(request))
    try need(.payload(request))
    guard let candidate = try prepare(.readyRequest).first(request.rawValue, row: Self.candidate) else {
      throw StoreError(.corrupt, "A request that was just made ready is not there.")
    }
    return candidate
  }

  /// Starts the next launch of a ready request.
  /// - Parameters:
  ///   - host: the row number of the host, whose lease `incarnation` must hold.
  ///   - waits: what kept the requests of the class waiting.
  func start(
    _ candidate: Candidate, on host: Int64, _ incarnation: Incarnation, _ place: Claim.Place,
    isSimulated: Bool = false, waits: WaitTexts = WaitTexts(nil), at now: Moment
  ) throws -> Assignment {
    let (request, number) = (candidate.request.rawValue, candidate.launches + 1)
    let definition = try knownDefinition(candidate.definition)
    try prepare(.startRequest).run(number, host, now.date, request)
    let wait = candidate.wait(until: now.date, waits)
    try prepare(.insertLaunch).run(
      request, number, host, incarnation.rawValue, GPUList.text(place.gpus), place.spanID, now.date, now.steady,
      candidate.progress.batches, isSimulated, wait?.readyAt, wait?.heldBy, wait?.obstacles)
    if wait != nil { try queueSpans(.wait, of: request, launch: number, isSampled: candidate.trace.isSampled) }
    // Of a request that was divided before, `spreadOut` counts the shards.
    if candidate.shard == nil { try count(pattern: definition.pattern, from: .ready, to: .running) }
    try noteStart(of: definition.definition)
    try noteKeys(of: candidate.identifier, start: definition.definition, at: now)
    if number == 1, candidate.head == nil {
      try noteFirstLaunch(of: candidate, definition.definition, place, at: now)
    }
    var candidate = candidate
    let madeShards = try spreadOut(&candidate, definition.definition, at: now)
    var assignment = Assignment(
      candidate, place, after: try lastEnd(before: candidate), startedAt: now.date, isSimulated: isSimulated)
    assignment.madeShards = madeShards
    assignment.inputs = try inputs(of: candidate)
    if candidate.hasTransfers { assignment.transfers = try tellTransfers(of: candidate.request, to: number) }
    return assignment
  }

  /// How the candidate's last launch ended; `nil` if it has had none.
  func lastEnd(before candidate: Candidate) throws -> LaunchEnd? {
    candidate.launches > 0 ? try lastEnds(before: [candidate])[0] : nil
  }

  /// How the launch before each candidate's next launch ended.
  func lastEnds(before candidates: [Candidate]) throws -> [LaunchEnd?] {
    // There is no launch with the number 0.
    try prepare(.launchEnd).each(candidates.map { [$0.request.rawValue, $0.launches] }) { _, row in
      LaunchEnd(outcome: row.outcome(0), isGraceful: row.bool(1))
    }.map(\.first)
  }

  /// Notes the time of a first launch for the spacing, and submits the next request of a repeating definition.
  private func noteFirstLaunch(
    of candidate: Candidate, _ definition: Definition, _ place: Claim.Place, at now: Moment
  ) throws {
    if definition.kind == .refresh || candidate.poke != nil {
      try prepare(.noteFirstLaunch).run(now.steady, candidate.identifierID)
    }
    if definition.repeats { try submitNext(after: candidate, launchSpan: place.spanID, at: now) }
  }
}

extension Candidate {
  /// The columns of the wait that ends with this launch; `nil` if the request did not have to wait.
  fileprivate func wait(
    until date: Timestamp, _ waits: WaitTexts
  ) -> (readyAt: Timestamp, heldBy: Int64?, obstacles: String?)? {
    guard let readyAt, readyAt < date else { return nil }
    return (readyAt, heldBy, waits.text(from: readyAt, to: date))
  }
}

/// The obstacles of waits as text, for the rows of launches. Requests of one class that became ready together had the
/// same obstacles, so the text of the last wait is kept and used again.
final class WaitTexts {
  private let history: WaitHistory?
  private var known: (start: Timestamp, end: Timestamp, text: String?)?

  init(_ history: WaitHistory?) { self.history = history }

  func text(from start: Timestamp, to end: Timestamp) -> String? {
    if let known, known.start == start, known.end == end { return known.text }
    let obstacles = history?.wait(from: start, to: end) ?? WaitObstacles(isIncomplete: true)
    known = (start, end, obstacles.text)
    return known?.text
  }
}

/// How the launch before ended, as far as the next launch needs to know it.
struct LaunchEnd {
  var outcome: LaunchOutcome.Kind?
  var isGraceful: Bool

  /// Whether the launch failed or was lost, so that its last batch may have been done in part.
  var isBroken: Bool { outcome == .failed || outcome == .lost }
  /// Whether the launch expired or was lost, so that another launch continues the request.
  var wasInterrupted: Bool { outcome == .expired || outcome == .lost }
}

extension Assignment {
  init(
    _ candidate: Candidate, _ place: Claim.Place, after last: LaunchEnd?, startedAt: Timestamp, isSimulated: Bool
  ) {
    self.init(
      launch: LaunchKey(request: candidate.request, number: candidate.launches + 1), identifier: candidate.identifier,
      requestNumber: candidate.number, definition: candidate.definition, priority: candidate.priority,
      payload: candidate.payload, progress: candidate.progress, frozenItems: candidate.frozenItems,
      repeatsBatch: last.map { !$0.isGraceful || $0.isBroken } ?? false, principal: candidate.principal,
      trace: TraceContext(
        traceID: candidate.trace.traceID, spanID: place.spanID, isSampled: candidate.trace.isSampled),
      startedAt: startedAt, gpus: place.gpus, isSimulated: isSimulated)
    (head, shard) = (candidate.head ?? candidate.request, candidate.shard)
    scheduledAt = candidate.scheduledAt
    if last?.wasInterrupted == true, candidate.heldBy == nil { resumedAfter = candidate.readyAt.map { startedAt - $0 } }
  }
}

extension SubmissionOffer.Offer {
  var place: Claim.Place { Claim.Place(gpus: gpus, spanID: spanID) }
}

extension Query {
  static let launchEnd = Query("SELECT outcome, is_graceful FROM launch WHERE request = ? AND number = ?")
  static let startRequest = Query(
    """
    UPDATE request SET state = 2, launches = ?, host = ?, started_at = coalesce(started_at, ?), ready_at = NULL,
      held_by = NULL, outcome = NULL, reason = NULL
    WHERE id = ?
    """)
  static let insertLaunch = Query(
    """
    INSERT INTO launch (request, number, host, incarnation, gpus, span_id, started_at, started_steady, first_batch,
      is_simulated, ready_at, held_by, obstacles)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """)
  static let noteFirstLaunch = Query(
    """
    UPDATE identifier SET last_first_launch_at = ?1,
      usual_interval = CASE WHEN no_data_in_row < 2 THEN max(0, ?1 - last_first_launch_at) ELSE usual_interval END
    WHERE id = ?2
    """)
}
