internal import BatonBase
package import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

// What is told to the receivers of notifications. Each function adds rows to the outbox in the transaction in which the
// thing happens, so that no crash loses them.
extension Verbs {
  /// Queues a notification of a request for each receiver that its definition or the fleet names.
  /// - Parameters:
  ///   - endsRequest: false for a quarantine that does not end the request.
  ///   - add: adds what is known besides.
  func tell(
    _ kind: NotificationKind, of request: LaunchedRequest, _ definition: Definition, endsRequest: Bool = true,
    at now: Moment, _ add: (inout JobNotification) throws -> Void
  ) throws {
    let receivers = Listeners(definition.notify, limits.notify).receivers(of: kind, endsRequest: endsRequest)
    guard !receivers.isEmpty else { return }
    try need(.request(request.whole))
    let row = try prepare(.countNotification).first(request.whole.rawValue) { row in
      (position: row.int(0), submittedAt: row.time(1), trace: row.traceID(2))
    }
    guard let row else { return }
    let isLastOne = row.position == JobNotification.mostBeforeEnd && !kind.endsRequest(endsRequest)
    if row.position > JobNotification.mostBeforeEnd, !kind.endsRequest(endsRequest) { return }
    let key = NotificationKey(subject: request.whole.rawValue, position: row.position, receiver: receivers[0])
    var facts = JobNotification(id: try notificationID(of: key), event: kind, at: now.date.rfc3339)
    (facts.identifier, facts.request) = (request.identifier, request.number)
    let namespace = limits.namespaces.prefix(of: definition.pattern)
    if !namespace.isEmpty { facts.namespace = namespace }
    (facts.submittedAt, facts.trace) = (row.submittedAt.rfc3339, "\(row.trace)")
    try add(&facts)
    if isLastOne {
      let more = "; what else happens before its end is not told, because this was told \(row.position) times"
      facts.reason = ((facts.reason ?? "") + more).bounded(toBytes: JobNotification.reasonBytes)
    }
    try queue(facts, key, for: receivers, at: now)
  }

  /// Tells of the end of a request, unless it was cancelled.
  /// - Parameters:
  ///   - ending: how its last launch ended; `nil` for a request with shards, and for one that had no launch at its end.
  ///   - failure: the kind of the failure, if it is known.
  ///   - launches: how many launches the request had, those of all shards.
  func tellEnd(
    of request: LaunchedRequest, _ state: RequestState, _ ending: Ending?, failure: String?, launches: Int,
    at now: Moment
  ) throws {
    guard state == .succeeded || state == .failed else { return }
    let definition = try knownDefinition(request.requirementClass.definition).definition
    let kind: NotificationKind =
      state == .succeeded ? .success : ending?.isQuarantine == true ? .quarantine : .failure
    try tell(kind, of: request, definition, at: now) { facts in
      (facts.state, facts.launches) = (state.rawValue, launches)
      if state == .failed {
        facts.reason = try prepare(.reasonOfRequest).first(request.whole.rawValue) { $0.optionalText(0) } ?? nil
        facts.failure = failure
      }
      if ending != nil { facts.host = try prepare(.hostName).first(request.host) { $0.text(0) } }
    }
  }

  /// Tells of a launch that was lost with its host, whom the definition names for that.
  func tellLoss(of request: LaunchedRequest, _ definition: Definition, at now: Moment) throws {
    try tell(.hostLost, of: request, definition, at: now) { facts in
      facts.host = try prepare(.hostName).first(request.host) { $0.text(0) }
      facts.launches = request.launches
      if request.isSpread { facts.reason = "a launch of shard \(request.shard)" }
    }
  }

  /// Tells of a shard that was quarantined. The end of the request tells of it as of any failure.
  func tellQuarantine(
    ofShard request: LaunchedRequest, _ definition: Definition, _ reason: String?, at now: Moment
  ) throws {
    try tell(.quarantine, of: request, definition, endsRequest: false, at: now) { facts in
      facts.reason = "shard \(request.shard): \(reason ?? "")".bounded(toBytes: JobNotification.reasonBytes)
      facts.host = try prepare(.hostName).first(request.host) { $0.text(0) }
    }
  }

  /// Tells of a batch that was passed over.
  func tellSkip(_ place: String, of request: LaunchedRequest, _ definition: Definition, at now: Moment) throws {
    try tell(.skippedBatch, of: request, definition, at: now) { $0.reason = "batch \(place)" }
  }

  /// Tells of a time of a schedule that was left out.
  func tellMissed(_ waiting: WaitingRequest, because event: RequestEvent, at now: Moment) throws {
    let definition = try knownDefinition(waiting.requirementClass.definition).definition
    guard !Listeners(definition.notify, limits.notify).receivers(of: .missed).isEmpty,
      let request = try launched(RequestID(waiting.id))
    else { return }
    try tell(.missed, of: request, definition, at: now) { facts in
      (facts.due, facts.reason) = (waiting.earliest.at.rfc3339, event.meaning.filter { $0 != "`" })
    }
  }

  /// Tells that the worker of a host was lost.
  /// - Parameter lease: the number of the lease that has ended, which ends once.
  func tellLoss(of host: Int64, _ name: HostName, lease: Int64, launches: Int, at now: Moment) throws {
    guard let receivers = limits.notify.hostLost else { return }
    let key = NotificationKey(subject: -host, position: Int(lease), receiver: receivers[0])
    var facts = JobNotification(id: try notificationID(of: key), event: .hostLost, at: now.date.rfc3339)
    (facts.host, facts.launches) = (name.rawValue, launches)
    try queue(facts, key, for: receivers, at: now)
  }

  /// The id that all attempts have: no other notification of this store or another one has it.
  private func notificationID(of key: NotificationKey) throws -> String {
    let store = try prepare(.storeName).first { $0.text(0) } ?? ""
    return key.subject < 0 ? "\(store)-h\(-key.subject)-\(key.position)" : "\(store)-\(key.subject)-\(key.position)"
  }

  private func queue(
    _ facts: JobNotification, _ key: NotificationKey, for receivers: [ReceiverName], at now: Moment
  ) throws {
    let content = try facts.json()
    for receiver in receivers {
      try prepare(.insertNotification).run(
        key.subject, key.position, receiver.rawValue, facts.id, content, now.date, now.steady)
    }
  }

  // MARK: Requests that have not started

  /// Sets when a request that was never launched is told of, from when it may begin.
  /// - Parameter old: its definition before, if it had another one; what waited already goes on waiting.
  func setPatience(
    of request: Int64, _ definition: Definition, after old: Definition? = nil, _ earliest: Earliest, at now: Moment
  ) throws {
    let patience = Listeners(definition.notify, limits.notify).patience
    let hadOne = old.map { Listeners($0.notify, limits.notify).patience != nil } ?? false
    guard patience != nil || hadOne else { return }
    let begin = max(earliest.steady(at: now), now.steady)
    let tellAt = patience.flatMap { begin == .distantFuture ? nil : begin + $0.after }
    let keepsWaiting = old != nil && tellAt != nil && earliest.hasCome(at: now)
    try prepare(keepsWaiting ? .keepPatience : .setPatience).run(tellAt, request)
  }

  /// Begins the wait of a request again that has taken another definition, if that says something else of waiting.
  func setPatience(
    of request: LaunchedRequest, from old: Definition, to new: Definition, at now: Moment
  ) throws {
    guard request.launches == 0, !request.isSpread, old.notify?.waits != new.notify?.waits else { return }
    let earliest = try prepare(.lateRequest).first(request.id.rawValue) {
      Earliest(at: $0.time(1), isDated: $0.bool(2))
    }
    guard let earliest else { return }
    let tellAt = Listeners(new.notify, limits.notify).patience.flatMap { patience in
      earliest.at == .distantFuture ? nil : max(earliest.steady(at: now), now.steady) + patience.after
    }
    try prepare(.setPatience).run(tellAt, request.id.rawValue)
  }

  /// The requests that have not started in time, those that are late for the longest time first.
  func lateRequests(at now: Moment, limit: Int) throws -> [RequestID] {
    try prepare(.lateRequests).all(now.steady, limit) { RequestID($0.int64(0)) }
  }

  /// Tells of requests that have not started in time, unless they have started meanwhile.
  func tellLate(_ requests: [RequestID], at now: Moment) throws {
    try demandStewardship()
    _ = try each(requests) { id in
      guard let request = try launched(id), request.launches == 0, request.state.isPending else { return }
      let row = try prepare(.lateRequest).first(id.rawValue) { row in
        (
          tellAt: row.optionalTime(0), earliest: Earliest(at: row.time(1), isDated: row.bool(2)),
          wait: Self.wait(row)
        )
      }
      guard let row, let tellAt = row.tellAt, tellAt <= now.steady else { return }
      try tellLate(request, row.earliest, tellAt, row.wait, at: now)
    }
  }

  private func tellLate(
    _ request: LaunchedRequest, _ earliest: Earliest, _ tellAt: Timestamp, _ wait: String?, at now: Moment
  ) throws {
    let definition = try knownDefinition(request.requirementClass.definition).definition
    guard let patience = Listeners(definition.notify, limits.notify).patience else {
      return try prepare(.setPatience).run(nil as Timestamp?, request.id.rawValue)
    }
    // The wall clock, with which a date is compared, may have been set back.
    let left = earliest.steady(at: now) + patience.after - now.steady
    if earliest.isDated, left > .zero {
      return try prepare(.setPatience).run(now.steady + left, request.id.rawValue)
    }
    try prepare(.setPatience).run(nil as Timestamp?, request.id.rawValue)
    let due = earliest.isDated ? earliest.at : now.date(ofSteady: tellAt + (.zero - patience.after))
    try tell(.waits, of: request, definition, at: now) { facts in
      (facts.state, facts.due) = (request.state.rawValue, due.rfc3339)
      facts.reason = wait ?? "no host has taken it; 'baton explain \(request.identifier)' says why"
    }
  }
}

extension Verbs {
  /// What a request waits for, in words; `nil` for a host. Reads what `lateRequest` has from the fourth column on.
  private static func wait(_ row: Columns) -> String? {
    guard let cause = row.optionalInt64(3).flatMap({ Cause(rawValue: Int($0)) }) else { return nil }
    // A pause and a flow keep a request by the same numbers as its spacing and the request before it.
    if cause == .rateLimited, row.bool(5), let person = row.optionalText(6) {
      let reason = "its schedule is paused by \(person): \(row.optionalText(7) ?? "")"
      return reason.bounded(toBytes: JobNotification.reasonBytes)
    }
    if cause == .waitsForLiveRequest, row.int(4) > 0 { return "others of its flow have not ended" }
    return cause.wait
  }
}

extension Cause {
  /// What a request waits for, in words.
  fileprivate var wait: String {
    switch self {
    case .notBefore: "its time has not come"
    case .rateLimited: "it is spaced from the request before"
    case .backingOff: "it waits for its retry"
    case .waitsForLiveRequest: "the request before it has not ended"
    }
  }
}

extension NotificationKind {
  /// Whether a request tells of it once. Shards, hosts and times of a schedule can tell without bound.
  fileprivate func endsRequest(_ quarantineEndsRequest: Bool) -> Bool {
    switch self {
    case .success, .failure, .waits, .test: true
    case .quarantine: quarantineEndsRequest
    case .skippedBatch, .missed, .hostLost: false
    }
  }
}

extension Ending {
  /// Whether a request that fails with this end was quarantined: a lost or expired launch is no failure by itself.
  var isQuarantine: Bool {
    switch outcome {
    case .lost, .expired: true
    case .finished, .failed: false
    }
  }
}

extension JobNotification {
  fileprivate func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// The facts of a row's content; `nil` if another version has written what this one cannot read.
  package init?(json: String) {
    guard let facts = try? JSONDecoder().decode(JobNotification.self, from: Data(json.utf8)) else { return nil }
    self = facts
  }
}

extension Query {
  static let countNotification = Query(
    "UPDATE request SET notified = notified + 1 WHERE id = ? RETURNING notified, submitted_at, trace_id")
  static let reasonOfRequest = Query("SELECT reason FROM request WHERE id = ?")
  static let storeName = Query("SELECT incarnation FROM store WHERE id = 1")
  static let insertNotification = Query(
    """
    INSERT INTO notification (subject, position, receiver, id, content, at, since, next_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)
    """)
  static let setPatience = Query("UPDATE request SET tell_at = ? WHERE id = ?")
  static let keepPatience = Query("UPDATE request SET tell_at = min(coalesce(tell_at, ?1), ?1) WHERE id = ?2")
  static let lateRequests = Query(
    """
    SELECT id FROM request WHERE tell_at IS NOT NULL AND tell_at <= ? AND launches = 0 AND state <= 1
    ORDER BY tell_at LIMIT ?
    """)
  static let lateRequest = Query(
    """
    SELECT r.tell_at, r.earliest_at, r.is_dated, r.cause, r.waits_for,
      CASE WHEN r.scheduled_at IS NULL THEN 0 ELSE 1 END, i.paused_by, i.paused_because
    FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.id = ?
    """)
}
