internal import BatonModel

/// The transfers that have not ended, in the order in which a host carries them out. Those at its front that have ended
/// are dropped when it is looked at, so that the next transfer is found at once among many.
struct TransferQueue: Sendable {
  private struct Place: Sendable, Comparable {
    var orderedAt: Timestamp
    var key: TransferKey

    static func < (left: Self, right: Self) -> Bool {
      (left.orderedAt, left.key) < (right.orderedAt, right.key)
    }
  }

  private var places: [Place] = []
  private var first = 0

  var indices: Range<Int> { first..<places.count }
  subscript(index: Int) -> TransferKey { places[index].key }

  /// Orders arrive in the order of time, except after a step of the clock.
  mutating func add(_ record: TransferRecord) {
    let place = Place(orderedAt: record.orderedAt, key: record.key)
    let index = places[first...].lastIndex { $0 < place }.map { $0 + 1 } ?? first
    places.insert(place, at: index)
  }

  mutating func dropFirst(while hasEnded: (TransferKey) -> Bool) {
    while first < places.count, hasEnded(places[first].key) { first += 1 }
    if first * 2 > places.count {
      places.removeFirst(first)
      first = 0
    }
  }
}
