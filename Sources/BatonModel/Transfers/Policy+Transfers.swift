extension Policy {
  /// The most requests whose transfers a host has at one time (Documentation/reference/limits.md). What is beyond goes
  /// to other hosts, or waits.
  package static let transferRequestsOnHost = 16

  /// Everything that keeps the transfers of one more request from a host. The store decides with it, and `explain` asks
  /// it too.
  /// - Parameters:
  ///   - requests: how many requests have transfers on the host that have not ended.
  ///   - isOutOfRoom: whether the host has said that its quota is used up, or that its disk has too little room.
  package static func obstaclesToTransfers(requests: Int, isOutOfRoom: Bool) -> [Obstacle] {
    (requests < transferRequestsOnHost ? [] : [.transfersFull(limit: transferRequestsOnHost)])
      + (isOutOfRoom ? [.transfersOutOfRoom] : [])
  }
}
