import BatonModel

/// The process to which an event belongs. Events of a process that died are dropped, and events of a stopped process
/// happen when it goes on.
enum Owner: Hashable {
  case world
  case coordinator(life: Int)
  case worker(Int, life: Int)
}

/// An action that is planned for a point in virtual time.
struct Event {
  var owner: Owner
  /// Whether the event is a timer of its process, and not something that arrives from outside. When a stopped process
  /// goes on, its timers may come before or after what arrived.
  var isTimer: Bool
  var action: () throws -> Void
}

/// Events in the order of their virtual time. Events of the same time come in the order in which they were added. The
/// queue is a binary heap of indices, so that moving an entry copies no event.
struct EventQueue {
  private struct Place {
    var time: Instant
    var number: Int
    /// The index of the event in `events`.
    var index: Int

    static func < (left: Place, right: Place) -> Bool {
      left.time.nanoseconds != right.time.nanoseconds
        ? left.time.nanoseconds < right.time.nanoseconds : left.number < right.number
    }
  }

  private var heap: [Place] = []
  private var events: [Event?] = []
  private var free: [Int] = []
  private var last = 0

  mutating func add(_ event: Event, at time: Instant) {
    last += 1
    let index = free.popLast() ?? events.count
    if index == events.count { events.append(event) } else { events[index] = event }
    heap.append(Place(time: time, number: last, index: index))
    rise()
  }

  mutating func takeFirst() -> (time: Instant, event: Event)? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    guard let event = events[first.index].take() else { preconditionFailure("a place in the queue has no event") }
    free.append(first.index)
    return (first.time, event)
  }

  private mutating func rise() {
    var index = heap.count - 1
    let place = heap[index]
    while index > 0, place < heap[(index - 1) / 2] {
      heap[index] = heap[(index - 1) / 2]
      index = (index - 1) / 2
    }
    heap[index] = place
  }

  private mutating func sink() {
    var index = 0
    let place = heap[0]
    while 2 * index + 1 < heap.count {
      var child = 2 * index + 1
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < place else { break }
      heap[index] = heap[child]
      index = child
    }
    heap[index] = place
  }
}
