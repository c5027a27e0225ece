package import BatonModel
package import BatonStore
package import BatonTelemetry

/// Builds the coordinator's spans from what the store has. Equal rows make equal spans, so a span that is sent again
/// after a crash is identical for the backend, byte for byte.
extension SpanSource {
  /// The spans of this source, with each parent before its children.
  /// - Parameter now: the provisional end of spans that have not ended.
  package func spans(asOf now: Timestamp) -> [SpanRecord] {
    var spans: [SpanRecord] = []
    if key.parts.contains(.submit) { spans.append(submitSpan) }
    if key.parts == .transfer, let transfer { spans.append(transferSpan(transfer)) }
    if key.parts.contains(.wait), let launch, let wait = launch.wait {
      spans.append(waitSpan(wait, id: launch.spanID.derived(1), until: launch.record.startedAt))
    }
    if key.parts.contains(.launch), let launch { spans += launchSpans(launch, asOf: now) }
    if key.parts.contains(.vainWait), let wait {
      spans.append(waitSpan(wait, id: idOfVainWait(wait), until: completion?.at ?? now))
    }
    if key.parts.contains(.complete), let completion { spans.append(completeSpan(completion)) }
    return spans
  }

  /// The ids of the spans in `spans(asOf:)` that have not ended.
  package var openSpans: [SpanID] {
    if key.parts.contains(.launch), let launch, launch.record.endedAt == nil {
      let id = launch.spanID
      return launch.record.expiringSince == nil ? [id] : [id, id.derived(2)]
    }
    if key.parts.contains(.vainWait), completion == nil, let wait {
      return [idOfVainWait(wait)]
    }
    return []
  }

  private var requestSpan: SpanID { trace.spanID }

  /// Shards that became ready together have waits of their own.
  private func idOfVainWait(_ wait: Wait) -> SpanID {
    requestSpan.derived(wait.readyAt.nanoseconds &+ Int64(shard) &* 0x9E37_79B9)
  }

  private func span(
    _ name: Names.Span, id: SpanID, parent: SpanID?, from start: Timestamp, to end: Timestamp,
    _ attributes: [Attribute] = []
  ) -> SpanRecord {
    SpanRecord(
      trace: trace.traceID, id: id, parent: parent, name: name.name(of: definition.pattern.rawValue),
      // A step of the wall clock must not make a span that ends before it began.
      kind: name.kind, start: start, end: max(start, end), attributes: common + attributes)
  }

  private var common: [Attribute] {
    [
      Attribute(Names.Attribute.definition, .string(definition.pattern.rawValue)),
      Attribute(Names.Attribute.identifier, .string(identifier.rawValue)),
      Attribute(Names.Attribute.request, .int(Int64(number))),
    ]
  }

  /// The span of the submission. It contains only values that stay the same when a later submission takes the
  /// request's place.
  private var submitSpan: SpanRecord {
    span(
      .submit, id: requestSpan, parent: parentSpanID, from: submittedAt, to: submittedAt)
  }

  private func waitSpan(_ wait: Wait, id: SpanID, until end: Timestamp) -> SpanRecord {
    var attributes: [Attribute] = []
    if let heldBy = wait.heldBy { attributes.append(Attribute(Names.Attribute.heldBy, .string(heldBy))) }
    if wait.obstacles.isIncomplete { attributes.append(Attribute(Names.Attribute.historyLost, true)) }
    var span = span(.wait, id: id, parent: requestSpan, from: wait.readyAt, to: end, attributes)
    span.events = (wait.obstacles.events.map(SpanEvent.init) + waitEvents.map(SpanEvent.init)).sortedByTime
    return span
  }

  private func completeSpan(_ completion: Completion) -> SpanRecord {
    var span = span(
      .complete, id: requestSpan.derived(completion.at.nanoseconds), parent: requestSpan, from: completion.at,
      to: completion.at,
      [
        Attribute(Names.Attribute.requestState, .string(completion.state.rawValue)),
        Attribute(Names.Attribute.launches, .int(Int64(key.launch))),
      ] + (completion.shards.map { [Attribute(Names.Attribute.shards, .int(Int64($0)))] } ?? []))
    if key.launch == 0 { tellJoined(&span) }
    guard completion.state == .failed else { return span }
    // A request with shards ends with no launch of its own.
    let isQuarantined = launch?.record.outcome != .failed
    span.fail(isSpread ? "shardFailed" : isQuarantined ? "quarantined" : launch?.errorType, completion.reason)
    return span
  }
}

// MARK: Transfers

extension SpanSource {
  /// The transfers of a request that is retried have numbers of earlier ones, and were ordered later.
  private func idOfTransfer(_ mark: TransferSpanMark) -> SpanID {
    requestSpan.derived(mark.orderedAt.nanoseconds &+ Int64(mark.number + 1) &* 0x9E37_79B9)
  }

  /// The span of a transfer, with times of its host's clock; it does not begin before its request. The server is named.
  /// The path and the query of the address are not, because they may contain a signature.
  private func transferSpan(_ ended: EndedTransfer) -> SpanRecord {
    let (transfer, status) = (ended.transfer, ended.status)
    var attributes = [
      Attribute(Names.Attribute.transfer, .int(Int64(key.launch))),
      Attribute(Names.Attribute.transferGroup, .string(transfer.group)),
      Attribute(Names.Attribute.host, .string(ended.host.rawValue)),
      Attribute(Names.Attribute.transferBytes, .int(status.bytes)),
      Attribute(Names.Attribute.transferResumedFrom, .int(status.resumedFrom)),
      Attribute(Names.Attribute.transferAttempts, .int(Int64(status.attempts))),
      Attribute(Names.Attribute.httpMethod, .string(transfer.method.rawValue.uppercased())),
    ]
    if let address = WebAddress(transfer.url) {
      attributes.append(Attribute(Names.Attribute.server, .string(address.host)))
    }
    if let code = status.httpStatus { attributes.append(Attribute(Names.Attribute.httpStatus, .int(Int64(code)))) }
    var span = span(
      .transfer, id: idOfTransfer(TransferSpanMark(number: key.launch, orderedAt: status.orderedAt)),
      parent: requestSpan, from: max(submittedAt, status.orderedAt), to: status.endedAt ?? status.orderedAt, attributes)
    guard case .ended(let end) = status.state else { return span }
    span.attributes.append(Attribute(Names.Attribute.transferOutcome, .string(end.word)))
    if case .failed(let failure) = end { span.fail(failure.code.rawValue, failure.text) }
    return span
  }
}

// MARK: What joined

extension SpanSource {
  /// Adds the id of every poke, and a link to each submitter's span and to each request that this one has waited for,
  /// so that a person can follow a trace that leads to this request.
  private func tellJoined(_ span: inout SpanRecord) {
    span.links += awaited.map { SpanLink(trace: $0.traceID, span: $0.spanID) }
    if !joined.pokes.isEmpty { span.attributes.append(Attribute(Names.Attribute.pokes, .strings(joined.pokes))) }
    if joined.dropped > 0 {
      span.attributes.append(Attribute(Names.Attribute.joinedDropped, .int(Int64(joined.dropped))))
    }
    span.links += joined.spans.map { context in
      SpanLink(
        trace: context.traceID, span: context.spanID, attributes: [Attribute(Names.Attribute.joined, true)])
    }
  }
}

// MARK: Launches

extension SpanSource {
  private func launchSpans(_ launch: Launch, asOf now: Timestamp) -> [SpanRecord] {
    let record = launch.record
    var span = span(
      .launch, id: launch.spanID, parent: requestSpan, from: record.startedAt, to: record.endedAt ?? now,
      launchAttributes(record))
    span.events = launchEvents.map(SpanEvent.init)
    if let before = launch.previousSpanID {
      span.links = [SpanLink(trace: trace.traceID, span: before)]
    }
    span.links += startedBy.map { SpanLink(trace: trace.traceID, span: idOfTransfer($0)) }
    if key.launch == 1 { tellJoined(&span) }
    switch record.outcome {
    case .failed: span.fail(launch.errorType, record.reason)
    case .lost: span.fail(launch.errorType, "its worker is gone")
    case .finished, .expired, nil: break  // An expiry is an outcome, never an error.
    }
    guard let reason = record.expiringReason, let since = record.expiringSince else { return [span] }
    return [span, expireSpan(record, reason, since: since, asOf: now)]
  }

  private func launchAttributes(_ record: LaunchRecord) -> [Attribute] {
    var attributes = [
      Attribute(Names.Attribute.kind, .string(definition.kind.rawValue)),
      Attribute(Names.Attribute.launch, .int(Int64(record.launch.number))),
      Attribute(Names.Attribute.host, .string(record.host.rawValue)),
      Attribute(Names.Attribute.firstBatch, .int(Int64(record.firstBatch))),
      Attribute(Names.Attribute.batches, .int(Int64(record.batches))),
    ]
    if isSpread { attributes.append(Attribute(Names.Attribute.shard, .int(Int64(shard)))) }
    if let outcome = record.outcome {
      attributes.append(Attribute(Names.Attribute.launchOutcome, .string(outcome.rawValue)))
    }
    if record.outcome == .expired, let reason = record.expiringReason {
      attributes.append(Attribute(Names.Attribute.expiryReason, .string(reason.code)))
    }
    if record.isSimulated { attributes.append(Attribute(Names.Attribute.simulated, true)) }
    return attributes
  }

  /// The span from the expiry of the launch until its host was free.
  private func expireSpan(
    _ record: LaunchRecord, _ reason: ExpiryReason, since: Timestamp, asOf now: Timestamp
  ) -> SpanRecord {
    let launch = record.spanID
    var attributes = [
      Attribute(Names.Attribute.launch, .int(Int64(record.launch.number))),
      Attribute(Names.Attribute.host, .string(record.host.rawValue)),
      Attribute(Names.Attribute.expiryReason, .string(reason.code)),
      Attribute(Names.Attribute.expiryDeadline, .double(reason.closingWindow(of: definition).inSeconds)),
    ]
    if let detail = reason.detail { attributes.append(Attribute(Names.Attribute.expiryDetail, .string(detail))) }
    // It is not known how a lost launch ended.
    if let outcome = record.outcome, outcome != .lost {
      attributes.append(Attribute(Names.Attribute.expiryGraceful, .bool(record.isGraceful)))
    }
    return span(.expire, id: launch.derived(2), parent: launch, from: since, to: record.endedAt ?? now, attributes)
  }
}

extension SpanSource.Launch {
  fileprivate var spanID: SpanID { record.spanID }
}

extension SpanID {
  /// The id of a span that has no row of its own. It is mixed from the id of a span with a row and a salt that
  /// distinguishes the derived spans. It is never 0.
  fileprivate func derived(_ salt: some BinaryInteger) -> SpanID {
    SpanID(SplitMix64.first(seed: number ^ UInt64(truncatingIfNeeded: salt)) | 1)
  }
}

extension SpanRecord {
  /// Records an error in the way of OpenTelemetry's semantic conventions.
  fileprivate mutating func fail(_ type: String?, _ message: String?) {
    status = .error(message ?? "")
    attributes.append(Attribute(Names.Attribute.errorType, .string(type ?? "_OTHER")))
  }
}

extension SpanEvent {
  fileprivate init(_ obstacle: WaitObstacles.Event) {
    self.init(
      time: obstacle.at, name: obstacle.came ? Names.Event.obstacleCame : Names.Event.obstacleWent,
      attributes: [Attribute(Names.Attribute.obstacle, .string(obstacle.code))] + Self.hosts(obstacle))
  }

  private static func hosts(_ obstacle: WaitObstacles.Event) -> [Attribute] {
    guard !obstacle.hosts.isEmpty else { return [] }
    return [
      Attribute(Names.Attribute.obstacleHosts, .strings(obstacle.hosts)),
      Attribute(Names.Attribute.obstacleHostCount, .int(Int64(obstacle.hostCount))),
    ]
  }

  fileprivate init(_ event: EventRecord) {
    self.init(
      time: event.at, name: Names.Event.history(event.name),
      attributes: event.detail.map { [Attribute(Names.Attribute.detail, .string($0))] } ?? [])
  }
}

extension [SpanEvent] {
  /// The events sorted by time; events with equal times stay in their order.
  fileprivate var sortedByTime: [SpanEvent] {
    enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
  }
}
