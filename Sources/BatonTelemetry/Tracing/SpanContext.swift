package import BatonModel
package import ServiceContextModule

/// Which span what is made next is a child of. A `ServiceContext` carries it, and `traceparent` between processes.
package struct SpanContext: Sendable {
  package var trace: TraceID
  package var span: SpanID
  package var isSampled: Bool
  /// The `tracestate` of whoever began the trace, empty where there is none.
  package var traceState: String
  /// Whether the span is one of another process, or was made from a row of the store.
  package var isRemote: Bool
  /// The span while it can still be discarded; nil for a remote one, and for one that is not sampled.
  var recorder: SpanRecorder?
  /// The batch that is open in the span, if it is a run and the context is that of its handler.
  var openBatch: (any OpenBatch)?

  package init(trace: TraceID, span: SpanID, isSampled: Bool, traceState: String = "", isRemote: Bool = true) {
    (self.trace, self.span, self.isSampled) = (trace, span, isSampled)
    (self.traceState, self.isRemote) = (traceState, isRemote)
  }

  /// The span that a request or a launch is stored with.
  package init(_ context: TraceContext) {
    self.init(trace: TraceID(of: context), span: SpanID(of: context), isSampled: context.isSampled)
  }

  /// The same as a command, a message or the store takes it.
  package var traceContext: TraceContext {
    TraceContext(traceID: trace.bytes, spanID: span.bytes, isSampled: isSampled)
  }

  /// The flags of a span that has this for a parent.
  var flagsOfChild: SpanFlags { isRemote ? [.parentIsKnown, .parentIsRemote] : [.parentIsKnown] }
}

private enum SpanContextKey: ServiceContextKey {
  typealias Value = SpanContext
  static let nameOverride: String? = "baton-span"
}

extension ServiceContext {
  /// The span that this context is in; nil where no trace was begun by, or came through, `BatonTracer`.
  package var spanContext: SpanContext? {
    get { self[SpanContextKey.self] }
    set { self[SpanContextKey.self] = newValue }
  }
}
