package import BatonModel

/// A request for launches of one class on one host.
package struct Claim: Hashable, Sendable {
  package var requirementClass: RequirementClass
  package var lease: HostLease
  /// The places for the launches that are wanted: for each the GPUs and the span id that the launch gets.
  package var places: [Place]
  /// The obstacles that kept the class waiting, for the spans of its waits.
  package var history: WaitHistory?
  /// The principals whose requests may run on the host; `nil` means all.
  package var principals: [PrincipalPattern]?
  /// Whether the host has said that no further file of a transfer fits on it.
  package var isOutOfRoom: Bool

  package struct Place: Hashable, Sendable {
    package var gpus: [Int]
    package var spanID: SpanID
    package init(gpus: [Int], spanID: SpanID) {
      self.gpus = gpus
      self.spanID = spanID
    }
  }

  package init(
    requirementClass: RequirementClass, lease: HostLease, places: [Place], history: WaitHistory? = nil,
    principals: [PrincipalPattern]? = nil, isOutOfRoom: Bool = false
  ) {
    self.principals = principals
    self.isOutOfRoom = isOutOfRoom
    self.history = history
    self.requirementClass = requirementClass
    self.lease = lease
    self.places = places
  }
}

/// The answer to a claim.
package struct ClaimAnswer: Hashable, Sendable {
  package var assignments: [Assignment]
  /// Whether the class has ready requests left.
  package var hasMore: Bool
  /// Whether one of the requests that are left may run on this host. Requests whose identifier is evicted from the host
  /// may not, nor those of a principal that its owner does not permit.
  package var hasFitting = false
  /// Whether the host was given transfers of requests, which wait for them now.
  package var hasPlaced = false
  /// When to promote what this claim scheduled: requests whose date turned out not to have come.
  package var nextDue = NextDue()
  /// Whether the claim's lease is not the present one any more. Nothing was started then.
  package var isMoved = false
  /// The first of the requests that are left, also if it may not run on this host; `nil` if none is left, or if other
  /// coordinators claim those that are left.
  package var first: WaitingHead?
}

/// The first ready request of a class: the one that starts next.
package struct WaitingHead: Hashable, Sendable {
  package var request: RequestID
  /// Since when it could have started, on the steady clock; `nil` if that was decided by a date on the wall clock.
  package var since: Timestamp?

  package init(_ request: RequestID, since: Timestamp?) { (self.request, self.since) = (request, since) }
}

/// The row of a ready request, with everything that its next launch needs.
struct Candidate {
  var request: RequestID
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var definition: DefinitionID
  var priority: Priority
  var launches: Int
  var principal: String
  var earliest: Earliest
  var poke: PokePriority?
  var frozenItems: Int?
  var trace: TraceContext
  var progress: Progress
  var payload: [UInt8]?
  /// Since when the request is ready, on the wall clock; `nil` if it was submitted in this transaction.
  var readyAt: Timestamp?
  /// The raw value of the `Cause` for which the request was scheduled before it became ready.
  var heldBy: Int64?
  /// The request of which the row is a shard; `nil` for a request itself.
  var head: RequestID?
  /// The shard that the row is; `nil` if the request was not divided.
  var shard: Shard?
  /// Whether the request has transfers.
  var hasTransfers = false
  /// The time of the calendar, or of `repeat`, for which the request stands; `nil` if none does.
  var scheduledAt: Timestamp?
  var mark = BackfillMark.unrelated
  /// Whether the request was submitted in a flow.
  var isInFlow = false

  /// What the start of its next launch reads besides the request.
  var keysOfStart: [RowKey] {
    (isInFlow ? [.inputs(head ?? request)] : []) + (hasTransfers ? [.transfers(request)] : [])
  }

  /// Whether the request's date has not come: the wall clock was set back after the request became ready.
  func isEarly(at now: Moment) -> Bool {
    launches == 0 && head == nil && earliest.isDated && !earliest.hasCome(at: now)
  }
}

extension Verbs {
  package func claim(_ claims: [Claim], at now: Moment) throws -> [ClaimAnswer] {
    try each(claims) { one in
      var answer = try claim(one, at: now)
      if answer.hasMore { answer.first = try firstReady(of: one.requirementClass) }
      return answer
    }
  }

  /// The first ready request of the class, without those that another group of writes has locked.
  func firstReady(of wanted: RequirementClass) throws -> WaitingHead? {
    let (definition, priority) = (wanted.definition.rawValue, wanted.priority.rawValue)
    let found = try prepare(.headOfClass).first(definition, priority) { row in
      (
        head: WaitingHead(RequestID(row.int64(0)), since: row.optionalTime(1)), definition: row.int64(2),
        priority: row.int(3)
      )
    }
    guard let found, (found.definition, found.priority) == (definition, priority) else { return nil }
    return found.head
  }

  /// Answers one claim.
  private func claim(_ claim: Claim, at now: Moment) throws -> ClaimAnswer {
    guard let host = try holder(claim.lease) else {
      return ClaimAnswer(assignments: [], hasMore: try hasReady(claim.requirementClass), isMoved: true)
    }
    if try wordAgainst(launchesOn: host) != nil {
      return ClaimAnswer(assignments: [], hasMore: try hasReady(claim.requirementClass))
    }
    let room = try room(for: claim.requirementClass.definition)
    var answer = ClaimAnswer(assignments: [], hasMore: false)
    let (ready, transferRoom, isCutShort) = try ready(for: claim, on: host, room: room, &answer, at: now)
    let waits = WaitTexts(claim.history)
    let starting = zip(ready, claim.places).prefix(room)
    try need(starting.flatMap { $0.0.keysOfStart })
    answer.assignments = try starting.map { candidate, place in
      try start(candidate, on: host, claim.lease.incarnation, place, waits: waits, at: now)
    }
    for assignment in answer.assignments {
      answer.nextDue.join(try dueOfKeys(of: assignment.identifier, assignment.definition))
    }
    let hasMadeShards = answer.assignments.contains(where: \.madeShards)
    answer.hasFitting = ready.count > min(room, claim.places.count)
    let mayPlaceMore = try answer.hasPlaced && transferRoom > 0 && hasReady(claim.requirementClass)
    answer.hasFitting = answer.hasFitting || hasMadeShards || mayPlaceMore || isCutShort
    // The files of others, or their identifiers or principals, may keep them from this host.
    answer.hasMore = try answer.hasFitting || hasReady(claim.requirementClass)
    return answer
  }

  /// How many more launches of the definition may run in the whole fleet (`maxRunning`, and the quotas of its
  /// namespace), whichever coordinator has started the others.
  func room(for id: DefinitionID) throws -> Int {
    let known = try knownDefinition(id)
    let room = try roomInNamespace(for: known.definition)
    guard let limit = known.definition.maxRunning else { return room }
    return min(room, try self.room(within: limit, of: known))
  }

  /// How many more launches of the definition its `maxRunning` permits.
  func room(within limit: Int, of definition: FrozenDefinition) throws -> Int {
    try need(.lockedPattern(definition.pattern))
    return max(0, limit - (try pattern(definition.pattern).counts[.running]))
  }

  /// The oldest ready requests of the class, one more than there are places. Requests whose date has not come are
  /// scheduled again, and their times are joined into the answer. Shards without a lane wait for one again, and
  /// requests whose keys have no room wait for these. Requests that have not got their transfers get them here, as far
  /// as the host has room, and wait for them: one for each place of the claim, so that hosts that claim together share
  /// them.
  /// - Parameter launches: how many launches its definition and its namespace permit.
  /// - Returns: the requests, for how many more the host could carry out transfers, and whether there may be others
  ///   that this claim had no time for.
  private func ready(
    for claim: Claim, on host: Int64, room launches: Int, _ answer: inout ClaimAnswer, at now: Moment
  ) throws -> ([Candidate], room: Int, isCutShort: Bool) {
    let definition = try knownDefinition(claim.requirementClass.definition)
    let hasTransfers = definition.definition.transfers != nil
    var room = hasTransfers ? try transferRoom(on: host, isOutOfRoom: claim.isOutOfRoom) : 0
    var share = min(room, claim.places.count)
    for _ in 0..<(held != nil && definition.definition.hasKeys ? Self.largestShared : Self.largestPutBack) {
      let found = try hasTransfers && share == 0 ? oldestWithFiles(claim, on: host) : oldestReady(claim, on: host)
      if try parkBeyondLanes(found, &answer.nextDue, at: now) { continue }
      let early = found.filter { $0.isEarly(at: now) }
      for candidate in early { answer.nextDue.join(try putBack(candidate, at: now)) }
      if !early.isEmpty { continue }
      if launches > 0 {
        try needLimits(ofLoaded: .ready, definition.definition)
        if try parkBeyondKeys(found, definition.definition, &answer.nextDue, at: now) { continue }
      }
      let unplaced = hasTransfers ? found.filter { !$0.hasTransfers }.prefix(share) : []
      if unplaced.isEmpty { return (found, room, false) }
      try need(unplaced.map { .transfers($0.request) })
      for one in unplaced { answer.nextDue.join(try placeTransfers(of: one, definition, on: host, at: now)) }
      (share, room, answer.hasPlaced) = (share - unplaced.count, room - unplaced.count, true)
    }
    return ([], room, definition.definition.hasKeys)
  }

  /// As `oldestReady`, without requests that have not got their transfers. It looks at the first ready requests of the
  /// class only: transfers are given in the same order, so those that have got theirs come first.
  private func oldestWithFiles(_ claim: Claim, on host: Int64) throws -> [Candidate] {
    let found = try oldestReady(claim, on: host, limit: max(Self.lookedAt, claim.places.count + 1))
    return Array(found.filter(\.hasTransfers).prefix(claim.places.count + 1))
  }

  private static let lookedAt = 256

  /// The largest number of rounds in which one claim schedules requests again. It keeps a claim short after a step of
  /// the clock under a long queue, so that checkpoints do not have to wait. The next claim continues.
  private static let largestPutBack = 500
  /// The same where the group has to load and lock every request and its keys.
  private static let largestShared = 32

  private func oldestReady(_ claim: Claim, on host: Int64, limit: Int? = nil) throws -> [Candidate] {
    let (wanted, limit) = (claim.requirementClass, limit ?? claim.places.count + 1)
    let evictions = try evictions(from: host)
    if evictions.isEmpty, claim.principals == nil {
      let found = try prepare(.oldestReady).all(
        wanted.definition.rawValue, wanted.priority.rawValue, host, limit, row: Self.candidate
      ).filter { holds(.identifierOf($0.request)) }
      try needReady(wanted, limit, found: found.count)
      return found
    }
    let pattern = try knownDefinition(wanted.definition).definition.pattern
    // If the whole pattern is evicted, its requests are not checked one by one: there may be a million.
    if evictions.contains(where: { $0.covers(pattern) }) { return [] }
    let found = try prepare(.oldestReadyPermitted).all(
      wanted.definition.rawValue, wanted.priority.rawValue, host, claim.principals.map(PrincipalPattern.list), limit,
      row: Self.candidate
    ).filter { holds(.identifierOf($0.request)) }
    try needReady(wanted, limit, found: found.count)
    return found
  }

  /// Schedules a ready request again, because its date has not come.
  private func putBack(_ candidate: Candidate, at now: Moment) throws -> NextDue {
    guard let waiting = try prepare(.waitingRequestByID).first(candidate.request.rawValue, row: Self.waiting) else {
      throw StoreError(.corrupt, "A request that was ready a moment ago is not there.")
    }
    var due = try reconsider(waiting, from: .ready, at: now).due
    // Those that wait for its keys may have its turn.
    if try knownDefinition(candidate.definition).definition.hasKeys { due.join(NextDue(steady: try nextDueOfLimits())) }
    return due
  }

  private func hasReady(_ wanted: RequirementClass) throws -> Bool {
    let found =
      try prepare(.anyReady).first(wanted.definition.rawValue, wanted.priority.rawValue) { _ in true } ?? false
    try needReady(wanted, 1, found: found ? 1 : 0)
    return found
  }

  static func candidate(_ row: Columns) -> Candidate {
    Candidate(
      request: RequestID(row.int64(0)), identifierID: row.int64(1), identifier: JobIdentifier(trusted: row.text(2)),
      number: row.int(3), definition: DefinitionID(row.int64(4)), priority: Priority(code: row.int(5)),
      launches: row.int(6), principal: row.text(7), earliest: Earliest(at: row.time(8), isDated: row.bool(18)),
      poke: row.poke(19), frozenItems: row.optionalInt64(9).map(Int.init), trace: row.trace(10),
      progress: progress(row, from: 13), payload: row.optionalBlob(17), readyAt: row.optionalTime(20),
      heldBy: row.optionalInt64(21), head: row.optionalInt64(22).map(RequestID.init),
      shard: row.optionalInt64(24).map { Shard(index: row.int(23), first: $0, end: row.optionalInt64(25)) },
      hasTransfers: !row.isNull(26), scheduledAt: row.optionalTime(27), mark: BackfillMark(code: row.int(28)),
      isInFlow: row.bool(29))
  }

  /// Reads four columns: batches, cursor, completed units, and total units.
  static func progress(_ row: Columns, from index: Int32) -> Progress {
    Progress(
      batches: row.int(index), cursor: row.optionalBlob(index + 1), completedUnits: row.int64(index + 2),
      totalUnits: row.optionalInt64(index + 3))
  }
}

extension Query {
  static let anyReady = Query(
    "SELECT 1 FROM request WHERE state = 1 AND definition = ? AND priority = ? LIMIT 1")
  /// The first ready request of a class; if it has none, one of a later class. It is written in this way because the
  /// order then fits the index of ready requests only: a plan that walks the primary key would pass older requests.
  static let headOfClass = Query(
    """
    SELECT id, CASE WHEN is_dated = 0 OR launches > 0 THEN eligible_at END, definition, priority FROM request
    WHERE state = 1 AND (definition, priority) >= (?1, ?2)
    ORDER BY definition, priority, id LIMIT 1
    """)
  static let oldestReady = Query(
    candidateColumns
      + " WHERE r.state = 1 AND r.definition = ?1 AND r.priority = ?2 AND \(hasItsFiles("?3")) ORDER BY r.id LIMIT ?4")
  /// The condition that a host may run a request `r` as far as the files of its transfers decide it.
  static func hasItsFiles(_ host: String) -> String { "(r.files_on IS NULL OR r.files_on = 0 OR r.files_on = \(host))" }
  static let readyRequest = Query(candidateColumns + " WHERE r.id = ? AND r.state = 1")

  static let candidateColumns = """
    SELECT \(candidateList) FROM request r JOIN identifier i ON i.id = r.identifier
      LEFT JOIN progress p ON p.request = r.id LEFT JOIN payload y ON y.request = coalesce(r.head, r.id)
    """
  /// The 30 columns that `Verbs.candidate` reads. Columns of a missing progress are NULL and are read as 0.
  static let candidateList = """
    r.id, r.identifier, i.name, r.number, r.definition, r.priority, r.launches, r.principal, r.earliest_at,
      r.frozen_items, r.trace_id, r.span_id, r.is_sampled,
      p.batches, p.cursor, p.completed_units, p.total_units, y.bytes, r.is_dated, r.poke, r.ready_at, r.held_by,
      r.head, r.shard, r.first_unit, r.end_unit, r.files_on, r.scheduled_at, r.backfill, r.flow IS NOT NULL
    """
}
