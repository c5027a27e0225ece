internal import BatonModel
internal import Tracing

/// A span that has not ended: what was said of it so far, within its limits.
struct SpanDraft: Sendable {
  let limits: SpanLimits
  let kind: SpanKind
  let start: Timestamp
  var name: String
  private(set) var attributes = SpanAttributes()
  /// What Baton says of the span itself. An array: a dictionary cost more than all the rest of a span.
  private var own: [Attribute] = []
  private var events: [Tracing.SpanEvent] = []
  private var links: [SpanLink] = []
  private var status = SpanStatus.unset
  /// The type of the error that was recorded last.
  private var failure: String?

  init(name: String, kind: SpanKind, start: Timestamp, limits: SpanLimits) {
    (self.name, self.kind, self.start, self.limits) = (name, kind, start, limits)
  }

  /// Past the limit, keys that are there already keep their place and may change.
  mutating func set(_ new: SpanAttributes) {
    guard new.count > limits.attributes else {
      attributes = new
      return
    }
    var (kept, late) = (SpanAttributes(), [(String, SpanAttribute)]())
    func sort(_ key: String, _ value: SpanAttribute) {
      if attributes.get(key) == nil { late.append((key, value)) } else { kept.set(key, value: value) }
    }
    new.forEach(sort)
    late.sort { $0.0 < $1.0 }
    for (key, value) in late.prefix(max(0, limits.attributes - kept.count)) { kept.set(key, value: value) }
    attributes = kept
  }

  /// Of one key what is said here counts, before what a handler says.
  mutating func add(_ attributes: [Attribute]) {
    own = own.adding(attributes)
  }

  /// `ok` is final, and an error keeps its message if it is set again without one, as `withSpan` does.
  /// Source: https://opentelemetry.io/docs/specs/otel/trace/api/#set-status.
  mutating func set(_ new: Tracing.SpanStatus) {
    switch (status, new.code) {
    case (.ok, _): return
    case (_, .ok): status = .ok
    case (.error, .error) where new.message == nil: return
    case (_, .error): status = .error(limits.clipped(new.message ?? ""))
    }
  }

  mutating func add(_ event: Tracing.SpanEvent) {
    if events.count < limits.events { events.append(event) }
  }

  mutating func add(_ link: SpanLink) {
    if links.count < limits.links { links.append(link) }
  }

  /// The event of an error of this type.
  mutating func add(_ event: Tracing.SpanEvent, failure type: String) {
    failure = type
    add(event)
  }

  /// The finished span. One whose status is an error has `error.type`, of the last recorded error if nobody set another.
  /// A clock that was set back makes no span of negative length.
  /// - Parameter last: what is said of it with its end, as with `add`.
  func finished(
    _ context: SpanContext, parent: SpanContext?, at end: Timestamp, adding last: [Attribute]
  ) -> SpanRecord {
    SpanRecord(
      trace: context.trace, id: context.span, parent: parent?.span, traceState: context.traceState,
      name: limits.clipped(name), kind: kind, start: start, end: max(start, end),
      attributes: finishedAttributes(own.adding(last)), events: events.map(event),
      links: links, status: status, flags: parent.map { $0.flagsOfChild.union(.sampled) } ?? .sampled)
  }

  private func finishedAttributes(_ own: [Attribute]) -> [Attribute] {
    var given = attributes
    for attribute in own where given.count > 0 { given[attribute.key] = nil }
    if case .error = status, let failure, given.get(Names.Attribute.errorType) == nil,
      !own.contains(where: { $0.key == Names.Attribute.errorType })
    {
      given.set(Names.Attribute.errorType, value: .string(failure))
    }
    return limits.attributes(given, and: own, atMost: limits.attributes + 1)
  }

  private func event(_ event: Tracing.SpanEvent) -> SpanEvent {
    SpanEvent(
      time: Timestamp(nanoseconds: Int64(clamping: event.nanosecondsSinceEpoch)), name: limits.clipped(event.name),
      attributes: limits.attributes(event.attributes, atMost: limits.attributesPerEvent))
  }
}

extension [Attribute] {
  /// Of one key what is added counts.
  fileprivate func adding(_ attributes: [Attribute]) -> [Attribute] {
    if isEmpty { return attributes }
    return filter { old in !attributes.contains { $0.key == old.key } } + attributes
  }
}
