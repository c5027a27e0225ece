import Synchronization

/// A bounded queue with one reader. A sender never waits. The reader takes all elements that are there at once, so a
/// busy stream is processed in batches.
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

  /// Adds an element.
  /// - Returns: false if the mailbox is closed or full. A full mailbox closes: its reader is too slow or its peer
  ///   misbehaves, and a message that needs an answer must not get lost silently.
  @discardableResult
  package func send(_ element: Element) -> Bool { add(1) { $0.append(element) } }

  /// Adds all elements, or none of them if they do not fit; then the mailbox closes.
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

  /// Closes the mailbox. It takes no more elements; elements that are in it can still be read.
  package func close() {
    state.withLock { state in
      state.isClosed = true
      return state.reader.take()
    }?.resume()
  }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Takes all elements in order, and waits while there are none. Returns `nil` when the mailbox is closed and empty,
  /// or when the task is cancelled.
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

  /// Takes the elements that are there, in order, without waiting.
  package func takeWaiting() -> [Element] { state.withLock { $0.takeAll() } }

  /// Lets the reader wait until an element arrives, or continues at once if there is a reason to.
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
