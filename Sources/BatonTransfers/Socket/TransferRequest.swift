package import BatonModel

/// What a worker asks of the transfers' process: one line of JSON with at most `maximumBytes`.
package enum TransferRequest: Hashable, Sendable, Codable {
  /// Take orders, at most `mostOrders`.
  case orders([TransferOrder])
  /// Tell transfers in the order of their keys, those after `after`, at most `atMost`.
  case list(after: TransferKey?, atMost: Int)
  /// Tell the transfers that have changed since the cursor, or all. If there are none, wait for one for at most `wait`
  /// milliseconds.
  case changes(since: TransferCursor?, atMost: Int, wait: Int)
  /// The conditions of the host, as the worker reads them. They count until the next ones, or for
  /// `TransferService.conditionsCount`.
  case conditions(Conditions)

  package static let maximumBytes = 1 << 20
  package static let mostOrders = 100
  package static let mostStatuses = 200
  package static let longestWait = 30_000

  /// Why the request is not answered; `nil` if it is.
  var problem: String? {
    switch self {
    case .orders(let orders):
      (1...Self.mostOrders).contains(orders.count) ? nil : "a request has 1 to \(Self.mostOrders) orders"
    case .list(_, let most): Self.problem(most)
    case .changes(_, let most, let wait):
      (0...Self.longestWait).contains(wait) ? Self.problem(most) : "a wait is from 0 to \(Self.longestWait) ms"
    case .conditions: nil
    }
  }

  private static func problem(_ most: Int) -> String? {
    (1...mostStatuses).contains(most) ? nil : "an answer has 1 to \(mostStatuses) transfers"
  }
}

/// The answer of the transfers' process: one line of JSON with at most `maximumBytes`.
package enum TransferAnswer: Hashable, Sendable, Codable {
  /// One answer for each order, in their order.
  case orders([OrderAnswer])
  case statuses([TransferStatus])
  case changes(TransferChanges)
  case done
  /// The request was not carried out. The text says why.
  case refused(String)

  package static let maximumBytes = 8 << 20
}
