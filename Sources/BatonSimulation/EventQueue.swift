import BatonModel

/// Whose event it is. What belongs to a process that died never happens, and what belongs to one that is stopped happens
/// when it goes on.
enum Owner: Hashable {
  case world
  case coordinator(life: Int)
  case worker(Int, life: Int)
}

/// Something that happens.
struct Event {
  var owner: Owner
  /// Time itself, rather than something that arrives: when a stopped process goes on, either may come first.
  var isTimer: Bool
  var action: () throws -> Void
}

/// Events by virtual time; of two at the same time the one that was planned first comes first. A binary heap of places,
/// so that moving one copies no event.
struct EventQueue {
  private struct Place {
    var time: Instant
    var number: Int
    /// In `events`.
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
