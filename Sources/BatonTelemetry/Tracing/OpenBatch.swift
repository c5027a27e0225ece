package import ServiceContextModule
internal import Synchronization
package import Tracing

/// The batch that is open in a run.
///
/// A handler's loop over batches runs in the context of its run. The worker puts one of these into that context and says
/// which batch is open; what `BatonTracer` makes in the context is then a child of the batch. Other tracers do not know
/// it, and make children of the run.
package final class OpenBatch: Sendable {
  private enum State {
    case none
    /// Nothing refers to the batch yet: most batches are not sent, and need no span.
    case unmade(@Sendable () -> any Tracing.Span)
    case made(any Tracing.Span)
  }

  private let state = Mutex(State.none)

  package init() {}

  /// From now on, children of the run are children of a batch; until the next `open` or `close`.
  /// - Parameter make: begins its span, once, when something refers to it first. It must not use this value.
  package func open(_ make: @escaping @Sendable () -> any Tracing.Span) { state.withLock { $0 = .unmade(make) } }

  /// From now on, children of the run are its own. Called before the batch is ended or discarded.
  /// - Returns: the batch's span, if it was made.
  @discardableResult
  package func close() -> (any Tracing.Span)? {
    state.withLock { state in
      defer { state = .none }
      if case .made(let span) = state { return span }
      return nil
    }
  }

  /// The span of the batch that is open, made if need be.
  package var span: (any Tracing.Span)? {
    state.withLock { state in
      switch state {
      case .none: return nil
      case .made(let span): return span
      case .unmade(let make):
        let span = make()
        state = .made(span)
        return span
      }
    }
  }

  var context: SpanContext? { span?.context.spanContext }
}

extension ServiceContext {
  /// Counts for the children of this context's span, not for theirs: the context of a new span has none, and neither has
  /// one that is in no span.
  package var openBatch: OpenBatch? {
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
    return (context.openBatch?.context ?? context).referred()
  }
}
