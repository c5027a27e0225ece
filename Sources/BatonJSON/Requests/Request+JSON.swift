import BatonBase
package import BatonCoordinator
package import BatonModel
package import BatonStore

extension JSONValue {
  /// The date as RFC 3339 in UTC. It is null for `nil`, and for `distantFuture`, which means that the request waits for
  /// an event and has no date.
  package init(_ date: Timestamp?) {
    self = date.map { $0 == .distantFuture ? .null : .string($0.rfc3339) } ?? .null
  }

  /// The result of a job, as the job has written it; null for `nil`.
  package init(_ result: JobResult?) {
    guard let result else {
      self = .null
      return
    }
    self = .verbatim(result.text)
  }

  /// A request as `list`, `watch`, `wait` and `run` write it.
  /// - Parameter obstacle: what keeps a ready request from starting; `nil` if the command has not asked for it.
  package init(_ record: RequestRecord, obstacle: WaitingReason? = nil) {
    self = [
      "identifier": JSONValue(record.identifier.rawValue),
      "request": JSONValue(record.number),
      "kind": JSONValue(record.kind.rawValue),
      "title": JSONValue(record.title),
      "subtitle": JSONValue(record.subtitle),
      "state": JSONValue(record.state.rawValue),
      "priority": JSONValue(record.priority.name),
      "submittedAt": JSONValue(record.submittedAt),
      "submittedBy": JSONValue(record.principal),
      "eligibleAt": JSONValue(record.eligibleAt),
      "scheduledTime": JSONValue(record.scheduledAt),
      "isBackfill": .bool(record.isBackfill),
      "waitsBecause": (record.waitsBecause.map { WaitingReason($0) } ?? obstacle).map { JSONValue($0) } ?? nil,
      "launches": JSONValue(record.launches),
      "batches": JSONValue(record.committedBatches),
      "completedUnits": JSONValue(record.doneUnits),
      "totalUnits": JSONValue(record.totalUnits),
      "skippedBatches": .array(record.skippedBatches.map { JSONValue($0) }),
      "skippedShards": .array(record.skippedShards.map { JSONValue($0) }),
      "skippedUnits": JSONValue(record.skippedUnits),
      "shards": JSONValue(record.shards),
      "host": JSONValue(record.host?.rawValue),
      "hostAway": record.hostAway.map { away in
        ["since": JSONValue(away.since), "leaseUntil": JSONValue(away.leaseUntil)]
      } ?? nil,
      "startedAt": JSONValue(record.startedAt),
      "endedAt": JSONValue(record.endedAt),
      "outcome": JSONValue(record.outcome),
      "reason": JSONValue(record.reason),
      "traceId": JSONValue(record.trace.traceID.description),
      "definition": JSONValue(record.pattern.rawValue),
      "flow": JSONValue(record.flow.map { Int($0.rawValue) }),
      "waitsFor": .array(record.waitsFor.map { JSONValue($0) }),
    ]
  }

  private init(_ awaited: AwaitedRequest) {
    self = [
      "identifier": JSONValue(awaited.identifier.rawValue), "request": JSONValue(awaited.number),
      "on": JSONValue(awaited.end.rawValue), "state": JSONValue(awaited.state.rawValue),
    ]
  }

  /// A request as `show` writes it: also with its payload, its position in the queue, and every poke, launch and event.
  package init(_ details: RequestDetails) {
    self = JSONValue(details.record).adding([
      "payload": JSONValue(details.record.payload.map { String(decoding: $0, as: UTF8.self) }),
      "result": JSONValue(details.record.result),
      "principal": JSONValue(details.record.principal),
      "position": JSONValue(details.position),
      "next": details.waiting.map { waiting in
        [
          "request": JSONValue(waiting.number), "state": JSONValue(waiting.state.rawValue),
          "eligibleAt": JSONValue(waiting.eligibleAt),
        ]
      } ?? nil,
      "pokes": .array(details.pokes.map { JSONValue($0) }),
      "launchHistory": .array(details.launches.map { JSONValue($0) }),
      "events": .array(details.events.map { JSONValue($0) }),
      "flowMembers": .array(details.flow.map { JSONValue(member: $0) }),
      "version": JSONValue(details.version?.number),
      "unitsPerMinute": JSONValue(details.curve?.rate.map { Int(($0 * 60).rounded()) }),
      "secondsLeft": JSONValue(
        details.curve?.timeLeft(of: details.record.progress.totalUnits).map { Int($0.components.seconds) }),
      "progressCurve": .array(
        (details.curve?.points ?? []).map { point in
          ["at": JSONValue(point.at), "batches": JSONValue(point.batches), "units": JSONValue(point.units)]
        }),
    ])
  }

  private init(member: RequestRecord) {
    self = [
      "identifier": JSONValue(member.identifier.rawValue), "request": JSONValue(member.number),
      "state": JSONValue(member.state.rawValue), "waitsFor": .array(member.waitsFor.map { JSONValue($0) }),
    ]
  }

  private init(_ launch: LaunchRecord) {
    self = [
      "number": JSONValue(launch.launch.number),
      "shard": JSONValue(launch.shard),
      "host": JSONValue(launch.host.rawValue),
      "startedAt": JSONValue(launch.startedAt),
      "endedAt": JSONValue(launch.endedAt),
      "outcome": JSONValue(launch.outcome?.rawValue),
      "reason": JSONValue(launch.reason),
      "graceful": launch.endedAt == nil ? .null : .bool(launch.isGraceful),
      "batches": JSONValue(launch.batches),
      "firstBatch": JSONValue(launch.firstBatch),
      "spanId": JSONValue(launch.spanID.description),
      "expiringBecause": JSONValue(launch.expiringReason?.code),
      "expiringSince": JSONValue(launch.expiringSince),
      "simulated": .bool(launch.isSimulated),
    ]
  }

  private init(_ poke: PokeRecord) {
    self = [
      "id": JSONValue(poke.id), "at": JSONValue(poke.at), "priority": JSONValue(poke.priority.rawValue),
      "principal": JSONValue(poke.principal),
    ]
  }

  private init(_ event: EventRecord) {
    self = ["at": JSONValue(event.at), "name": JSONValue(event.name), "detail": JSONValue(event.detail)]
  }

  private init(_ reason: WaitingReason) {
    self = [
      "code": JSONValue(reason.code), "host": JSONValue(reason.host), "text": JSONValue(reason.text),
      "limit": reason.limit.map { JSONValue($0) } ?? .null,
    ]
  }
}

/// Why a request waits: an obstacle of the request itself, or the first obstacle of the fleet or a host.
package struct WaitingReason: Hashable, Sendable {
  package var code: String
  package var host: String?
  package var text: String
  /// Of the limit of a key.
  package var limit: LimitObstacle?

  package init(_ obstacle: Obstacle) {
    code = obstacle.code
    text = obstacle.text
    if case .key(let limit) = obstacle.detail { self.limit = limit }
  }

  package init(_ line: Explanation.Line) {
    code = line.code
    host = line.host?.rawValue
    text = line.text
  }

  /// An obstacle that many hosts have.
  package init(_ row: ExplainedGroups.Row) {
    code = row.code
    text = "\(row.code) on \(counted(row.hosts, "host"))"
  }

  /// The host and the obstacle: `alpha: the host is draining`.
  package var description: String { (host.map { "\($0): " } ?? "") + text }
}

extension RequestRecord {
  /// The units in all that the handler reported, otherwise the number of frozen items; `nil` if neither is known.
  package var totalUnits: Int64? { progress.totalUnits ?? frozenItems.map(Int64.init) }
}
