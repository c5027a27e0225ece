package import ServiceContextModule
package import Tracing

/// What knows the batch that is open in a run.
///
/// A handler's loop over batches runs in the context of its run. The worker puts one of these into that context; what
/// `BatonTracer` makes there is then a child of the batch. Other tracers do not know it, and make children of the run.
package protocol OpenBatch: AnyObject, Sendable {
  /// The span of the batch that is open, made if need be; nil while none is. Not to be made in a context that has this
  /// value.
  var batch: (any Tracing.Span)? { get }
}

extension ServiceContext {
  /// Counts for the children of this context's span, not for theirs: the context of a new span has none, and neither has
  /// one that is in no span.
  package var openBatch: (any OpenBatch)? {
    get { spanContext?.openBatch }
    set {
      guard var context = spanContext else { return }
      context.openBatch = newValue
      spanContext = context
    }
  }

  /// What is made in this context refers to: the open batch if there is one, else the span.
  func referred() -> SpanContext? {
    guard let context = spanContext else { return nil }
    return (context.openBatch?.batch?.context.spanContext ?? context).referred()
  }
}
