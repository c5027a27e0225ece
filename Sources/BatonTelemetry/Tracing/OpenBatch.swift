package import ServiceContextModule
package import Tracing

/// Knows the batch that is open in a run. The worker's `RunSpan` conforms to it.
///
/// A handler's loop over batches runs in the context of its run. The worker puts an `OpenBatch` into that context, and
/// spans that `BatonTracer` makes there become children of the open batch. Other tracers do not know this value, and
/// make the spans children of the run.
package protocol OpenBatch: AnyObject, Sendable {
  /// The span of the open batch, which is created if it does not exist yet; `nil` while no batch is open. The batch's
  /// span must be created in a context that does not contain this object, because creating it asks for its parent.
  var batch: (any Tracing.Span)? { get }
}

extension ServiceContext {
  /// The open batch of this context's span. It applies only to direct children of the span: the context of a new span
  /// has no open batch, and neither has a context without a span. Setting it in a context without a span does nothing.
  package var openBatch: (any OpenBatch)? {
    get { spanContext?.openBatch }
    set {
      guard var context = spanContext else { return }
      context.openBatch = newValue
      spanContext = context
    }
  }

  /// The parent for a span that is created in this context: the open batch if there is one, else the context's span.
  /// The parent can no longer be discarded afterwards.
  func referred() -> SpanContext? {
    guard let context = spanContext else { return nil }
    return (context.openBatch?.batch?.context.spanContext ?? context).referred()
  }
}
