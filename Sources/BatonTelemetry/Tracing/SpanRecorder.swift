internal import BatonModel
internal import Synchronization
internal import Tracing

/// A sampled span until it ends: what its copies, its context and its children share.
final class SpanRecorder: Sendable {
  private enum Phase {
    case open
    case ended
    /// Nothing of it will be sent: what is made from its context is a child of its parent.
    case discarded
  }

  private struct State {
    var phase = Phase.open
    var draft: SpanDraft
    /// Whether something refers to it, so that it has to be sent.
    var isReferred = false
    /// Let go when it is sent: a chain of contexts must not keep every span before it in memory.
    var parent: SpanContext?
  }

  let limits: SpanLimits
  private let state: Mutex<State>

  init(_ draft: SpanDraft, parent: SpanContext?) {
    limits = draft.limits
    state = Mutex(State(draft: draft, parent: parent))
  }

  var isOpen: Bool { state.withLock { $0.phase == .open } }
  var name: String { state.withLock { $0.draft.name } }
  var attributes: SpanAttributes { state.withLock { $0.draft.attributes } }

  /// Does nothing once it has ended. `body` runs no code of others: it might use this span.
  func change(_ body: (inout sending SpanDraft) -> Void) {
    state.withLock { state in
      if case .open = state.phase { body(&state.draft) }
    }
  }

  /// The finished span, once; nil if it had ended already.
  func end(_ context: SpanContext, at time: Timestamp) -> SpanRecord? {
    let ended: (SpanDraft, SpanContext?)? = state.withLock { state in
      guard case .open = state.phase else { return nil }
      defer { (state.phase, state.parent) = (.ended, nil) }
      return (state.draft, state.parent)
    }
    return ended?.0.finished(context, parent: ended?.1, at: time)
  }

  /// False if it has to be sent, or was, because something refers to it.
  func discard() -> Bool {
    state.withLock { state in
      guard case .open = state.phase, !state.isReferred else { return false }
      state.phase = .discarded
      return true
    }
  }

  /// Whether a child or a link may name this span, which is then certain to be sent. After a discard it is its parent.
  func refer() -> Reference {
    state.withLock { state in
      guard case .discarded = state.phase else {
        state.isReferred = true
        return .itself
      }
      return .parent(state.parent)
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
