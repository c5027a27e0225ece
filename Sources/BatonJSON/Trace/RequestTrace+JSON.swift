import BatonModel
package import BatonTelemetry

extension JSONValue {
  /// A trace in Baton's own JSON, whose keys Documentation/reference/commands.md lists. Durations are in milliseconds,
  /// rounded down.
  package init(_ name: RequestName, _ trace: RequestTrace, link: String?) {
    let summary = TraceSummary(trace)
    self = [
      "identifier": JSONValue(name.identifier.rawValue),
      "request": JSONValue(name.number),
      "state": JSONValue(summary.state.rawValue),
      "traceId": JSONValue(trace.spans.first?.trace.description),
      "link": JSONValue(link),
      "submittedAt": JSONValue(summary.submittedAt),
      "endedAt": JSONValue(summary.endedAt),
      "asOf": JSONValue(trace.asOf),
      "summary": JSONValue(summary),
      "spans": .array(trace.spans.map { JSONValue($0, isOpen: trace.isOpen($0)) }),
    ]
  }

  private init(_ summary: TraceSummary) {
    self = [
      "text": JSONValue(summary.sentence),
      "totalMilliseconds": JSONValue(summary.total.milliseconds),
      "scheduledMilliseconds": JSONValue(summary.scheduled.milliseconds),
      "waitingMilliseconds": JSONValue(summary.waiting.milliseconds),
      "runningMilliseconds": JSONValue(summary.running.milliseconds),
      "endedMilliseconds": JSONValue(summary.ended.milliseconds),
      "causes": .array(summary.causes.map { JSONValue($0) }),
      "obstacles": .array(summary.obstacles.map { JSONValue($0) }),
      "unexplainedMilliseconds": JSONValue(summary.unexplained.milliseconds),
      "historyLost": .bool(summary.isHistoryLost),
      "launches": JSONValue(summary.launches),
      "hosts": .array(summary.hosts.map { .string($0) }),
      "batches": JSONValue(summary.batches),
      "skippedBatches": .array(summary.skippedBatches.map { JSONValue($0) }),
      "endings": .array(
        summary.endings.map { ending in
          [
            "outcome": JSONValue(ending.outcome.rawValue), "reason": JSONValue(ending.reason),
            "count": JSONValue(ending.count),
          ]
        }),
    ]
  }

  private init(_ share: TraceSummary.Share) {
    self = [
      "code": JSONValue(share.code), "milliseconds": JSONValue(share.time.milliseconds),
      "hosts": .array(share.hosts.map { .string($0) }), "hostCount": JSONValue(share.hostCount),
    ]
  }

  private init(_ span: SpanRecord, isOpen: Bool) {
    self = [
      "spanId": JSONValue(span.id.description),
      "parentSpanId": JSONValue(span.parent?.description),
      "name": JSONValue(span.name),
      "kind": JSONValue(String(describing: span.kind)),
      "startedAt": JSONValue(span.start),
      "endedAt": isOpen ? .null : JSONValue(span.end),
      "milliseconds": JSONValue(span.duration.milliseconds),
      "status": JSONValue(span.status.word),
      "message": JSONValue(span.error),
      "attributes": JSONValue(span.attributes),
      "events": .array(
        span.events.map { event in
          [
            "at": JSONValue(event.time), "name": JSONValue(event.name), "attributes": JSONValue(event.attributes),
          ]
        }),
      "links": .array(
        span.links.map { link in
          ["traceId": JSONValue(link.trace.description), "spanId": JSONValue(link.span.description)]
        }),
    ]
  }

  private init(_ attributes: [Attribute]) {
    self = .object(attributes.map { Member(key: $0.key, value: JSONValue($0.value)) })
  }

  private init(_ value: AttributeValue) {
    switch value {
    case .string(let text): self = .string(text)
    case .bool(let isTrue): self = .bool(isTrue)
    case .int(let number): self = .integer(number)
    case .double(let number): self = Self.number(number)
    case .strings(let texts): self = .array(texts.map { .string($0) })
    case .bools(let truths): self = .array(truths.map { .bool($0) })
    case .ints(let numbers): self = .array(numbers.map { .integer($0) })
    case .doubles(let numbers): self = .array(numbers.map(Self.number))
    }
  }

  /// A whole number as a JSON integer; every other number as a string, so that it loses no precision.
  private static func number(_ number: Double) -> JSONValue {
    Int64(exactly: number).map { .integer($0) } ?? .string(String(number))
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension SpanStatus {
  fileprivate var word: String {
    switch self {
    case .unset: "unset"
    case .ok: "ok"
    case .error: "error"
    }
  }
}

extension RequestTrace {
  /// The spans that have ended, as an OTLP export request. Open spans are left out, because a backend would take them
  /// for ended.
  package var exportable: TraceRequest {
    TraceRequest(
      resource: Resource([
        Attribute(Names.Resource.serviceName, "baton-coordinator"),
        Attribute(Names.Resource.serviceVersion, .string(BatonVersion.current)),
      ]), spans: spans.filter { !isOpen($0) })
  }
}
