internal import BatonModel
internal import Synchronization
internal import Tracing

/// Records a sampled span until the span ends. All copies of the `BatonSpan`, its context and the contexts of its
/// children share the recorder.
final class SpanRecorder: Sendable {
  private struct State {
    /// The span's content; `nil` after the span has ended or was discarded.
    var draft: SpanDraft?
    /// Whether the span was discarded and will not be sent. Spans that are made in its context then become children of
    /// its parent.
    var isDiscarded = false
    /// Whether something refers to the span, so that the span must be sent.
    var isReferred = false
    /// The span's parent; `nil` after the span has ended, so that a chain of contexts does not keep every earlier span
    /// in memory.
    var parent: SpanContext?
  }

  private let trace: TraceID
  private let id: SpanID
  private let traceState: String
  private let tracer: BatonTracer
  private let state: Mutex<State>

  /// - Parameter identity: the context of the span itself.
  init(_ draft: SpanDraft, _ identity: SpanContext, parent: SpanContext?, tracer: BatonTracer) {
    (trace, id, traceState) = (identity.trace, identity.span, identity.traceState)
    self.tracer = tracer
    state = Mutex(State(draft: draft, parent: parent))
  }

  var limits: SpanLimits { tracer.limits }
  var isOpen: Bool { state.withLock { $0.draft != nil } }
  /// The span's name; empty after the span has ended.
  var name: String { state.withLock { $0.draft?.name } ?? "" }
  /// The attributes that the handler set; empty after the span has ended.
  var attributes: SpanAttributes { state.withLock { $0.draft?.attributes } ?? [:] }

  /// Changes the span's content; does nothing after the span has ended. `body` must not call code of a handler or
  /// library: that code might use this span and deadlock.
  func change(_ body: (inout sending SpanDraft) -> Void) {
    state.withLock { state in
      guard var draft = state.draft.take() else { return }
      body(&draft)
      state.draft = draft
    }
  }

  /// Adds attributes, ends the span and sends it. Further calls do nothing.
  func end(at time: Timestamp, adding attributes: [Attribute] = []) {
    let ended: (SpanDraft, SpanContext?)? = state.withLock { state in
      guard let draft = state.draft.take() else { return nil }
      return (draft, state.parent.take())
    }
    guard let (draft, parent) = ended else { return }
    let context = SpanContext(trace: trace, span: id, isSampled: true, traceState: traceState)
    tracer.sink.add(draft.finished(context, parent: parent, at: time, adding: attributes))
  }

  /// Discards the span. Returns false, and changes nothing, if something refers to the span or the span has ended
  /// already.
  func discard() -> Bool {
    state.withLock { state in
      guard state.draft != nil, !state.isReferred else { return false }
      (state.draft, state.isDiscarded) = (nil, true)
      return true
    }
  }

  /// Returns the span to which a child or a link may refer: this span, which then can no longer be discarded, or its
  /// parent if this span was discarded.
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
  /// The parent for a child that is made in this context. It is certain to be sent; if this span was discarded, it is
  /// the nearest ancestor that was not, and `nil` if there is none.
  func referred() -> SpanContext? {
    switch recorder?.refer() {
    case nil, .itself: self
    case .parent(let parent): parent?.referred()
    }
  }
}
