package import BatonModel
package import ServiceContextModule

/// Identifies the span that is the parent of the spans created next. Within a process a `ServiceContext` carries it,
/// and between processes a `traceparent`.
package struct SpanContext: Sendable {
  package var trace: TraceID
  package var span: SpanID
  package var isSampled: Bool
  /// The `tracestate` that came with the trace from the process that began it; empty if there was none.
  package var traceState: String
  /// Whether the span belongs to another process, or was read from the store.
  package var isRemote: Bool
  /// The recorder of the span, through which the span can be kept from being discarded; `nil` for a remote span and for
  /// a span that is not sampled.
  var recorder: SpanRecorder?
  /// Knows the open batch, if the span is a run and this is the context of the run's handler; else `nil`.
  var openBatch: (any OpenBatch)?

  package init(trace: TraceID, span: SpanID, isSampled: Bool, traceState: String = "", isRemote: Bool = true) {
    (self.trace, self.span, self.isSampled) = (trace, span, isSampled)
    (self.traceState, self.isRemote) = (traceState, isRemote)
  }

  /// The context with which a request or a launch is stored. The span counts as remote.
  package init(_ context: TraceContext) {
    self.init(trace: context.traceID, span: context.spanID, isSampled: context.isSampled)
  }

  /// The context in the form that commands, messages and the store use.
  package var traceContext: TraceContext {
    TraceContext(traceID: trace, spanID: span, isSampled: isSampled)
  }

  /// The flags of a span whose parent is this span.
  var flagsOfChild: SpanFlags { isRemote ? [.parentIsKnown, .parentIsRemote] : [.parentIsKnown] }
}

private enum SpanContextKey: ServiceContextKey {
  typealias Value = SpanContext
  static let nameOverride: String? = "baton-span"
}

extension ServiceContext {
  /// The span that this context belongs to; `nil` if no trace was begun or propagated by `BatonTracer`.
  package var spanContext: SpanContext? {
    get { self[SpanContextKey.self] }
    set { self[SpanContextKey.self] = newValue }
  }
}
