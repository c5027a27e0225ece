import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension RequestRecord {
  var proto: Baton_V1_Request {
    .with {
      $0.id = id.rawValue
      $0.identifier = identifier.rawValue
      $0.number = Int64(number)
      $0.definition = definition.rawValue
      $0.pattern = pattern.rawValue
      $0.kind = kind.rawValue
      if let title { $0.title = title }
      if let subtitle { $0.subtitle = subtitle }
      $0.state = state.rawValue
      $0.priority = priority.name
      $0.submittedAt = submittedAt.nanoseconds
      $0.principal = principal
      $0.eligibleAt = eligibleAt.nanoseconds
      if let waitsBecause { $0.waitsBecause = waitsBecause.proto }
      if let scheduledAt { $0.scheduledAt = scheduledAt.nanoseconds }
      $0.isBackfill = isBackfill
      $0.launches = Int32(launches)
      $0.batches = Int64(progress.batches)
      $0.completedUnits = progress.completedUnits
      if let total = progress.totalUnits { $0.totalUnits = total }
      if let cursor = progress.cursor { $0.cursor = Data(cursor) }
      if let host { $0.host = host.rawValue }
      if let startedAt { $0.startedAt = startedAt.nanoseconds }
      if let endedAt { $0.endedAt = endedAt.nanoseconds }
      if let outcome { $0.outcome = outcome }
      if let reason { $0.reason = reason }
      $0.traceparent = trace.traceparent
      $0.failures = Int32(ledger.failures)
      $0.losses = Int32(ledger.losses)
      $0.strikes = Int32(ledger.strikes)
      if let by = ledger.cancelledBy { $0.cancelledBy = by }
      if let payload { $0.payload = Data(payload) }
      if let frozenItems { $0.frozenItems = Int64(frozenItems) }
      if let poke { $0.poke = Int32(poke.rawValue) }
      $0.repeats = repeats
      $0.skippedBatches = skippedBatches.map(Int64.init)
      $0.skippedShards = skippedShards.map { Int32($0) }
      $0.skippedUnits = skippedUnits
      if let hostAway {
        $0.hostAway = .with {
          ($0.since, $0.leaseUntil) = (hostAway.since.nanoseconds, hostAway.leaseUntil.nanoseconds)
        }
      }
      if let shards { $0.shards = shards.proto }
      if let result { $0.result = Data(result.json) }
      if let flow { $0.flow = flow.rawValue }
      $0.waitsFor = waitsFor.map(\.proto)
    }
  }

  init(_ proto: Baton_V1_Request) throws {
    guard let kind = JobKind(rawValue: proto.kind), let state = RequestState(rawValue: proto.state),
      let priority = Priority(name: proto.priority), let trace = TraceContext(traceparent: proto.traceparent)
    else { throw WireError("request \(proto.id) has a kind, state or priority that this version does not know") }
    self.init(
      id: RequestID(proto.id), identifier: try JobIdentifier(wire: proto.identifier), number: Int(proto.number),
      definition: DefinitionID(proto.definition), pattern: try IdentifierPattern(wire: proto.pattern), kind: kind,
      title: proto.hasTitle ? proto.title : nil, subtitle: proto.hasSubtitle ? proto.subtitle : nil, state: state,
      priority: priority, submittedAt: Timestamp(nanoseconds: proto.submittedAt), principal: proto.principal,
      eligibleAt: Timestamp(nanoseconds: proto.eligibleAt), isDated: true,
      waitsBecause: proto.hasWaitsBecause ? Obstacle(proto.waitsBecause) : nil, launches: Int(proto.launches),
      progress: Progress(
        batches: Int(proto.batches), cursor: proto.hasCursor ? Array(proto.cursor) : nil,
        completedUnits: proto.completedUnits, totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil),
      ledger: Ledger(
        failures: Int(proto.failures), losses: Int(proto.losses), strikes: Int(proto.strikes),
        cancelledBy: proto.hasCancelledBy ? proto.cancelledBy : nil),
      host: proto.hasHost ? HostName(proto.host) : nil,
      startedAt: proto.hasStartedAt ? Timestamp(nanoseconds: proto.startedAt) : nil,
      endedAt: proto.hasEndedAt ? Timestamp(nanoseconds: proto.endedAt) : nil,
      lastOutcome: LaunchOutcome.Kind(rawValue: proto.outcome), reason: proto.hasReason ? proto.reason : nil,
      trace: trace,
      payload: proto.hasPayload ? Array(proto.payload) : nil,
      frozenItems: proto.hasFrozenItems ? Int(proto.frozenItems) : nil,
      poke: proto.hasPoke ? PokePriority(rawValue: Int(proto.poke)) : nil,
      skippedBatches: proto.skippedBatches.map { Int($0) }, skippedUnits: proto.skippedUnits)
    repeats = proto.repeats
    skippedShards = proto.skippedShards.map { Int($0) }
    if proto.hasHostAway {
      hostAway = HostAway(
        since: Timestamp(nanoseconds: proto.hostAway.since),
        leaseUntil: Timestamp(nanoseconds: proto.hostAway.leaseUntil))
    }
    if proto.hasShards { shards = ShardSummary(proto.shards) }
    if proto.hasScheduledAt { scheduledAt = Timestamp(nanoseconds: proto.scheduledAt) }
    isBackfill = proto.isBackfill
    result = proto.hasResult ? try JobResult(wire: proto.result) : nil
    flow = proto.hasFlow ? RequestID(proto.flow) : nil
    waitsFor = try proto.waitsFor.map(AwaitedRequest.init)
  }
}

extension AwaitedRequest {
  fileprivate var proto: Baton_V1_AwaitedRequest {
    .with {
      ($0.request, $0.identifier, $0.number) = (request.rawValue, identifier.rawValue, Int64(number))
      ($0.end, $0.state) = (end.rawValue, state.rawValue)
    }
  }

  fileprivate init(_ proto: Baton_V1_AwaitedRequest) throws {
    guard let end = Dependency.End(rawValue: proto.end), let state = State(rawValue: proto.state) else {
      throw WireError("a request waits in a way that this version does not know")
    }
    self.init(
      request: RequestID(proto.request), identifier: try JobIdentifier(wire: proto.identifier),
      number: Int(proto.number), end: end, state: state)
  }
}

/// Obstacles of a request itself have a message of their own; obstacles of hosts are sent as text.
extension Obstacle {
  var proto: Baton_V1_RequestObstacle {
    .with {
      $0.code = code
      if let clearsAt { $0.until = clearsAt.nanoseconds }
      if case .number(let number) = detail { $0.number = Int64(number) }
      if case .others(let names) = detail { $0.others = names }
      if case .pause(let pause) = detail { $0.pause = pause.proto }
      if case .key(let limit) = detail { $0.limit = limit.proto }
    }
  }

  /// nil for an obstacle that this version does not know.
  init?(_ proto: Baton_V1_RequestObstacle) {
    guard let kind = Kind(rawValue: proto.code) else { return nil }
    if kind == .schedulePaused {
      self = .schedulePaused(SchedulePause(proto.pause))
      return
    }
    if kind == .limitReached || kind == .rateReached {
      guard let limit = LimitObstacle(proto.limit, until: proto.until) else { return nil }
      self = .limitReached(limit)
      return
    }
    self.init(
      scheduling: kind, until: Timestamp(nanoseconds: proto.until), number: Int(proto.number), others: proto.others)
  }
}

extension RequestDetails {
  var proto: Baton_V1_ShowReply {
    .with {
      $0.request = record.proto
      $0.launches = launches.map(\.proto)
      $0.events = events.map { event in
        .with {
          $0.at = event.at.nanoseconds
          $0.name = event.name
          if let detail = event.detail { $0.detail = detail }
        }
      }
      $0.pokes = pokes.map(\.proto)
      if let position { $0.position = Int64(position) }
      if let waiting { $0.waiting = waiting.proto }
      if let earlierOutput { $0.earlierOutput = Int64(earlierOutput) }
      if let version { ($0.version, $0.newestVersion) = (Int64(version.number), Int64(version.newest)) }
      $0.curve = curve?.proto ?? []
      $0.flow = flow.map(\.proto)
    }
  }

  init(_ proto: Baton_V1_ShowReply) throws {
    let record = try RequestRecord(proto.request)
    self.init(
      record: record, launches: proto.launches.map { LaunchRecord($0, of: record.id) },
      events: proto.events.map {
        EventRecord(at: Timestamp(nanoseconds: $0.at), name: $0.name, detail: $0.hasDetail ? $0.detail : nil)
      }, pokes: proto.pokes.compactMap(PokeRecord.init), position: proto.hasPosition ? Int(proto.position) : nil,
      waiting: proto.hasWaiting ? try RequestRecord(proto.waiting) : nil,
      earlierOutput: proto.hasEarlierOutput ? Int(proto.earlierOutput) : nil,
      version: proto.hasVersion
        ? VersionNumber(number: Int(clamping: proto.version), newest: Int(clamping: proto.newestVersion)) : nil,
      curve: proto.curve.isEmpty ? nil : ProgressCurve(proto.curve), flow: try proto.flow.map(RequestRecord.init))
  }
}

extension PokeRecord {
  var proto: Baton_V1_Poke {
    .with {
      $0.id = id
      $0.at = at.nanoseconds
      $0.priority = Int32(priority.rawValue)
      $0.principal = principal
    }
  }

  /// nil for a priority that this version does not know.
  init?(_ proto: Baton_V1_Poke) {
    guard let priority = PokePriority(rawValue: Int(proto.priority)) else { return nil }
    self.init(id: proto.id, at: Timestamp(nanoseconds: proto.at), priority: priority, principal: proto.principal)
  }
}

extension LaunchRecord {
  var proto: Baton_V1_Launch {
    .with {
      $0.number = Int32(launch.number)
      $0.shard = Int32(shard)
      $0.host = host.rawValue
      $0.startedAt = startedAt.nanoseconds
      if let endedAt { $0.endedAt = endedAt.nanoseconds }
      if let outcome { $0.outcome = outcome.rawValue }
      if let reason { $0.reason = reason }
      $0.isGraceful = isGraceful
      $0.firstBatch = Int64(firstBatch)
      $0.batches = Int64(batches)
      $0.spanID = spanID.description
      if let expiringReason { $0.expiringReason = expiringReason.code }
      if let detail = expiringReason?.detail { $0.expiringDetail = detail }
      if let expiringSince { $0.expiringSince = expiringSince.nanoseconds }
      $0.isSimulated = isSimulated
    }
  }

  init(_ proto: Baton_V1_Launch, of request: RequestID) {
    self.init(
      launch: LaunchKey(request: request, number: Int(proto.number)), host: HostName(proto.host),
      startedAt: Timestamp(nanoseconds: proto.startedAt),
      endedAt: proto.hasEndedAt ? Timestamp(nanoseconds: proto.endedAt) : nil,
      outcome: LaunchOutcome.Kind(rawValue: proto.outcome), reason: proto.hasReason ? proto.reason : nil,
      isGraceful: proto.isGraceful, firstBatch: Int(proto.firstBatch), batches: Int(proto.batches),
      spanID: SpanID(hex: proto.spanID) ?? SpanID(0),
      expiringReason: proto.hasExpiringReason
        ? ExpiryReason(code: proto.expiringReason, detail: proto.hasExpiringDetail ? proto.expiringDetail : nil) : nil,
      expiringSince: proto.hasExpiringSince ? Timestamp(nanoseconds: proto.expiringSince) : nil,
      isSimulated: proto.isSimulated)
    shard = Int(proto.shard)
  }
}

extension ShardSummary {
  var proto: Baton_V1_ShardSummary {
    .with {
      $0.lanes = Int32(lanes)
      $0.lanesInUse = Int32(lanesInUse)
      $0.total = Int32(total)
      $0.running = Int32(running)
      $0.ready = Int32(ready)
      $0.scheduled = Int32(scheduled)
      $0.succeeded = Int32(succeeded)
      $0.failed = Int32(failed)
      $0.cancelled = Int32(cancelled)
      $0.unitsLeft = unitsLeft
      $0.hosts = Int32(hosts)
    }
  }

  init(_ proto: Baton_V1_ShardSummary) {
    self.init(
      lanes: Int(proto.lanes), lanesInUse: Int(proto.lanesInUse), total: Int(proto.total),
      running: Int(proto.running), ready: Int(proto.ready), scheduled: Int(proto.scheduled),
      succeeded: Int(proto.succeeded), failed: Int(proto.failed), cancelled: Int(proto.cancelled),
      unitsLeft: proto.unitsLeft, hosts: Int(proto.hosts))
  }
}

extension ShardRecord {
  var proto: Baton_V1_ShardState {
    .with {
      $0.id = id.rawValue
      $0.index = Int32(index)
      $0.state = state.rawValue
      $0.first = first
      if let end { $0.end = end }
      $0.launches = Int32(launches)
      if let host { $0.host = host.rawValue }
      $0.batches = Int64(batches)
      $0.completedUnits = completedUnits
      if let totalUnits { $0.totalUnits = totalUnits }
      if let reason { $0.reason = reason }
      $0.isParked = isParked
      if let resultBytes { $0.resultBytes = Int32(resultBytes) }
      if let result { $0.result = Data(result.json) }
    }
  }

  init(_ proto: Baton_V1_ShardState) throws {
    guard let state = RequestState(rawValue: proto.state) else {
      throw WireError("shard \(proto.index) has a state that this version does not know")
    }
    self.init(
      id: RequestID(proto.id), index: Int(proto.index), state: state, first: proto.first,
      end: proto.hasEnd ? proto.end : nil, launches: Int(proto.launches),
      host: proto.hasHost ? HostName(proto.host) : nil, batches: Int(proto.batches),
      completedUnits: proto.completedUnits, totalUnits: proto.hasTotalUnits ? proto.totalUnits : nil,
      reason: proto.hasReason ? proto.reason : nil, isParked: proto.isParked)
    resultBytes = proto.hasResultBytes ? Int(proto.resultBytes) : nil
    result = proto.hasResult ? try JobResult(wire: proto.result) : nil
  }
}
