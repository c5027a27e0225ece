import Synchronization

/// Takes the first of several answers, for one who waits for it.
final class FirstAnswer<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiter: CheckedContinuation<Value, Never>?
  }

  private let state = Mutex(State())

  /// Later ones change nothing; false if this is one.
  @discardableResult
  func give(_ value: Value) -> Bool {
    let (isFirst, waiter) = state.withLock { state in
      guard state.value == nil else { return (false, nil as CheckedContinuation<Value, Never>?) }
      state.value = value
      return (true, state.waiter.take())
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// To be asked once.
  var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state in
          if state.value == nil { state.waiter = continuation }
          return state.value
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
