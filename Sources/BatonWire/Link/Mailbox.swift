import Synchronization

/// A bounded queue with one reader: whoever sends never waits, and the reader takes everything that is there at once,
/// so that a busy stream batches by itself.
package final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isClosed = false
    var reader: CheckedContinuation<Void, Never>?

    mutating func takeAll() -> [Element] {
      defer { elements = [] }
      return elements
    }
  }

  private let state = Mutex(State())
  package let capacity: Int

  package init(capacity: Int) { self.capacity = capacity }

  /// False if the mailbox is closed, or full: then it closes, because its reader is too slow or its peer misbehaves,
  /// and a message that was promised an answer must not get lost unseen.
  @discardableResult
  package func send(_ element: Element) -> Bool { add(1) { $0.append(element) } }

  @discardableResult
  package func send(contentsOf elements: [Element]) -> Bool { add(elements.count) { $0 += elements } }

  private func add(_ count: Int, _ body: (inout [Element]) -> Void) -> Bool {
    let (isTaken, reader) = state.withLock { state in
      if state.isClosed { return (false, nil as CheckedContinuation<Void, Never>?) }
      if state.elements.count + count > capacity {
        state.isClosed = true
        return (false, state.reader.take())
      }
      body(&state.elements)
      return (true, state.reader.take())
    }
    reader?.resume()
    return isTaken
  }

  /// Nothing more is taken; what is there can still be read.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      return state.reader.take()
    }?.resume()
  }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Everything that is there, in order; waits while there is nothing. Nil once it is closed and empty, or the task is
  /// cancelled.
  package func receive() async -> [Element]? {
    while true {
      if Task.isCancelled { return nil }
      if let elements = state.withLock({ $0.elements.isEmpty ? nil : $0.takeAll() }) { return elements }
      if isClosed { return nil }
      await withTaskCancellationHandler {
        await withCheckedContinuation(park)
      } onCancel: {
        state.withLock { $0.reader.take() }?.resume()
      }
    }
  }

  private func park(_ continuation: CheckedContinuation<Void, Never>) {
    let resumesAtOnce = state.withLock { state in
      if !state.elements.isEmpty || state.isClosed || Task.isCancelled { return true }
      precondition(state.reader == nil, "a mailbox has one reader")
      state.reader = continuation
      return false
    }
    if resumesAtOnce { continuation.resume() }
  }
}
