internal import BatonModel
internal import Tracing

/// The content of a span that has not ended, kept within its limits. `SpanRecorder` owns it.
struct SpanDraft: Sendable {
  let limits: SpanLimits
  let kind: SpanKind
  let start: Timestamp
  var name: String
  private(set) var attributes = SpanAttributes()
  /// The attributes that Baton itself sets. They are in an array because a dictionary cost more than all the rest of a
  /// span.
  private var own: [Attribute] = []
  private var events: [Tracing.SpanEvent] = []
  private var links: [SpanLink] = []
  private var status = SpanStatus.unset
  /// The type of the error that was recorded last; `nil` if no error was recorded.
  private var failure: String?

  init(name: String, kind: SpanKind, start: Timestamp, limits: SpanLimits) {
    (self.name, self.kind, self.start, self.limits) = (name, kind, start, limits)
  }

  /// Replaces the attributes that the handler sets. If there are more than the limit, keys that were set before are
  /// kept with their new values, and new keys fill the remaining room in the order of the keys.
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

  /// Adds attributes that Baton itself sets. They replace earlier attributes with the same keys, and take precedence
  /// over the attributes that the handler sets.
  mutating func add(_ attributes: [Attribute]) {
    own = own.adding(attributes)
  }

  /// Sets the status. The status `ok` is final. An error keeps its message if it is set again without a message, as
  /// `withSpan` does. Source: https://opentelemetry.io/docs/specs/otel/trace/api/#set-status.
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

  /// Adds the event of a recorded error whose type is `type`.
  mutating func add(_ event: Tracing.SpanEvent, failure type: String) {
    failure = type
    add(event)
  }

  /// Returns the finished span. If the status is an error and the attribute `error.type` was not set, it is the type of
  /// the last recorded error. If the clock was set back, the span ends when it began, because a span must not have a
  /// negative length.
  /// - Parameter last: attributes to add at the end, as with `add`.
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
  /// These attributes and `attributes`, whose values replace existing values with the same keys.
  fileprivate func adding(_ attributes: [Attribute]) -> [Attribute] {
    if isEmpty { return attributes }
    return filter { old in !attributes.contains { $0.key == old.key } } + attributes
  }
}
