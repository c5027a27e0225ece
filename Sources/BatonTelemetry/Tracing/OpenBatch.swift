package import ServiceContextModule
internal import Synchronization
package import Tracing

/// The batch that is open in a run.
///
/// A handler's loop over batches runs in the context of its run. The worker puts one of these into that context and says
/// which batch is open; what `BatonTracer` makes in the context is then a child of the batch. Other tracers do not know
/// it, and make children of the run.
package final class OpenBatch: Sendable {
  private let current = Mutex<SpanContext?>(nil)

  package init() {}

  /// From now on, children of the run are children of `batch`; until the next `open` or `close`.
  package func open(_ batch: any Tracing.Span) {
    let context = batch.context.spanContext
    current.withLock { $0 = context }
  }

  /// From now on, children of the run are its own. Called before the batch is ended or discarded.
  package func close() { current.withLock { $0 = nil } }

  var context: SpanContext? { current.withLock { $0 } }
}

private enum OpenBatchKey: ServiceContextKey {
  typealias Value = OpenBatch
  static let nameOverride: String? = "baton-open-batch"
}

extension ServiceContext {
  /// Counts for the children of this context's span, not for theirs: the context of a new span has none.
  package var openBatch: OpenBatch? {
    get { self[OpenBatchKey.self] }
    set { self[OpenBatchKey.self] = newValue }
  }

  /// What is made in this context refers to: the open batch if there is one, else the span.
  func referred() -> SpanContext? { (openBatch?.context ?? spanContext)?.referred() }
}
