internal import BatonModel
internal import Synchronization
internal import Tracing

/// A sampled span until it ends: what its copies, its context and its children share.
final class SpanRecorder: Sendable {
  private struct State {
    /// Until it has ended or was discarded.
    var draft: SpanDraft?
    /// Nothing of it will be sent: what is made from its context is a child of its parent.
    var isDiscarded = false
    /// Whether something refers to it, so that it has to be sent.
    var isReferred = false
    /// Let go when it is sent: a chain of contexts must not keep every span before it in memory.
    var parent: SpanContext?
  }

  private let trace: TraceID
  private let id: SpanID
  private let traceState: String
  private let tracer: BatonTracer
  private let state: Mutex<State>

  /// - Parameter identity: of the span itself.
  init(_ draft: SpanDraft, _ identity: SpanContext, parent: SpanContext?, tracer: BatonTracer) {
    (trace, id, traceState) = (identity.trace, identity.span, identity.traceState)
    self.tracer = tracer
    state = Mutex(State(draft: draft, parent: parent))
  }

  var limits: SpanLimits { tracer.limits }
  var isOpen: Bool { state.withLock { $0.draft != nil } }
  /// Empty once it has ended.
  var name: String { state.withLock { $0.draft?.name } ?? "" }
  /// Empty once it has ended.
  var attributes: SpanAttributes { state.withLock { $0.draft?.attributes } ?? [:] }

  /// Does nothing once it has ended. `body` runs no code of others: it might use this span.
  func change(_ body: (inout sending SpanDraft) -> Void) {
    state.withLock { state in
      guard var draft = state.draft.take() else { return }
      body(&draft)
      state.draft = draft
    }
  }

  /// Sends the span, with these attributes as well; the second time it does nothing.
  func end(at time: Timestamp, adding attributes: [Attribute] = []) {
    let ended: (SpanDraft, SpanContext?)? = state.withLock { state in
      guard let draft = state.draft.take() else { return nil }
      return (draft, state.parent.take())
    }
    guard let (draft, parent) = ended else { return }
    let context = SpanContext(trace: trace, span: id, isSampled: true, traceState: traceState)
    tracer.sink.add(draft.finished(context, parent: parent, at: time, adding: attributes))
  }

  /// False if it has to be sent, or was, because something refers to it.
  func discard() -> Bool {
    state.withLock { state in
      guard state.draft != nil, !state.isReferred else { return false }
      (state.draft, state.isDiscarded) = (nil, true)
      return true
    }
  }

  /// Whether a child or a link may name this span, which is then certain to be sent. After a discard it is its parent.
  func refer() -> Reference {
    state.withLock { state in
      if state.isDiscarded { return .parent(state.parent) }
      state.isReferred = true
      return .itself
    }
  }

  enum Reference {
    case itself
    case parent(SpanContext?)
  }
}

extension SpanContext {
  /// What a child made from this context is a child of: a span that is certain to be sent, or else nothing.
  func referred() -> SpanContext? {
    switch recorder?.refer() {
    case nil, .itself: self
    case .parent(let parent): parent?.referred()
    }
  }
}
