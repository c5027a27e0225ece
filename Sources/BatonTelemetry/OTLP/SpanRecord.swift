package import BatonModel

/// A finished span as a value, including its ids and times. Equal records are encoded to equal bytes: a span that is
/// sent again after a restart is the same span to the backend.
package struct SpanRecord: OTLPMessage {
  package var trace: TraceID
  package var id: SpanID
  /// The id of the parent span; `nil` for the root of a trace.
  package var parent: SpanID?
  /// The `tracestate` that came with the trace from the process that began it; empty if there was none.
  package var traceState: String
  package var name: String
  package var kind: SpanKind
  package var start: Timestamp
  package var end: Timestamp
  /// The attributes in the order in which they are sent. Each key occurs once.
  package var attributes: [Attribute]
  package var events: [SpanEvent]
  package var links: [SpanLink]
  package var status: SpanStatus
  package var flags: SpanFlags

  package init(
    trace: TraceID, id: SpanID, parent: SpanID? = nil, traceState: String = "", name: String, kind: SpanKind,
    start: Timestamp, end: Timestamp, attributes: [Attribute] = [], events: [SpanEvent] = [], links: [SpanLink] = [],
    status: SpanStatus = .unset, flags: SpanFlags = .sampled
  ) {
    (self.trace, self.id, self.parent, self.traceState) = (trace, id, parent, traceState)
    (self.name, self.kind, self.start, self.end) = (name, kind, start, end)
    (self.attributes, self.events, self.links) = (attributes, events, links)
    (self.status, self.flags) = (status, flags)
  }
}

/// The span kinds of OpenTelemetry, with their numbers in OTLP. The number 0, "unspecified", is left out because it
/// should not be sent.
package enum SpanKind: UInt64, Hashable, Sendable, CaseIterable {
  case `internal` = 1
  case server = 2
  case client = 3
  case producer = 4
  case consumer = 5
}

/// An event within a span: a name with a time and attributes.
package struct SpanEvent: OTLPMessage {
  package var time: Timestamp
  package var name: String
  package var attributes: [Attribute]

  package init(time: Timestamp, name: String, attributes: [Attribute] = []) {
    (self.time, self.name, self.attributes) = (time, name, attributes)
  }
}

/// A reference from one span to another span. Baton links a launch to the launch that it resumes, and a request to the
/// spans of submissions and pokes that joined it.
package struct SpanLink: OTLPMessage {
  package var trace: TraceID
  package var span: SpanID
  package var traceState: String
  package var attributes: [Attribute]
  package var flags: SpanFlags

  package init(
    trace: TraceID, span: SpanID, traceState: String = "", attributes: [Attribute] = [], flags: SpanFlags = []
  ) {
    (self.trace, self.span, self.traceState) = (trace, span, traceState)
    (self.attributes, self.flags) = (attributes, flags)
  }
}

/// The status of a span. An expiry is not an error: a launch that was asked to stop has the status `unset`.
package enum SpanStatus: OTLPMessage {
  case unset
  case ok
  case error(String)

  var code: UInt64 {
    switch self {
    case .unset: 0
    case .ok: 1
    case .error: 2
    }
  }

  var message: String { if case .error(let message) = self { message } else { "" } }
}

/// The flags of a span or link. The lowest eight bits are those of `traceparent`. The next two bits say whether the
/// parent (or the linked span) belongs to another process. Source: `SpanFlags` of opentelemetry-proto 1.3.
package struct SpanFlags: OptionSet, Hashable, Sendable {
  package var rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let sampled = SpanFlags(rawValue: 1 << 0)
  /// At least the last seven bytes of the trace id are random (W3C Trace Context, level 2).
  package static let random = SpanFlags(rawValue: 1 << 1)
  /// It is known whether the parent is remote. Without this flag, the absence of `parentIsRemote` says nothing.
  package static let parentIsKnown = SpanFlags(rawValue: 1 << 8)
  package static let parentIsRemote = SpanFlags(rawValue: 1 << 9)
}
