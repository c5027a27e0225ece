import BatonModel

/// What becomes of transfers when their host is forgotten.
extension Verbs {
  /// Ends the transfers of a host that is forgotten as failed: those that it has not ended, and downloads of which only
  /// this host had the file. Their requests are launched with these ends, on any host; they would wait for ever
  /// otherwise.
  func loseTransfers(of host: Int64, _ name: HostName, at now: Moment) throws -> TransferNews {
    try need(.transfersOn(host))
    var news = TransferNews()
    for request in try prepare(.placesOnHost).all(host, row: { RequestID($0.int64(0)) }) {
      if try isWanted(request) { try loseTransfers(of: request, with: host, name, &news, at: now) }
      try prepare(.deleteTransferPlace).run(request.rawValue, host)
    }
    return news
  }

  private func loseTransfers(
    of request: RequestID, with host: Int64, _ name: HostName, _ news: inout TransferNews, at now: Moment
  ) throws {
    let end = TransferEnd.failed(
      TransferFailure(
        .hostForgotten,
        "The host \(name) was forgotten, and the file with it. Retry the request, or let its launch add the transfer "
          + "again."))
    for row in try transferRows(of: request) {
      guard let transfer = row.transfer, row.isLost(transfer) else { continue }
      let key = TransferKey(request: request, index: row.entry.index)
      var status = row.known ?? TransferStatus(key: key, state: .running, orderedAt: now.date)
      status.state = .ended(end)
      if row.entry.hasEnded {
        // Its span has been queued, and is not queued again.
        try prepare(.loseTransfer).run(end.code, try TransferJSON.text(status), request.rawValue, row.entry.index)
        continue
      }
      status.endedAt = now.date
      try endTransfer(status, end, on: host)
      news.ended.append(TransferNews.EndedTransfer(key: key, method: transfer.method, end: end, bytes: 0))
    }
    news.nextDue.join(try wake(request, at: now))
    try prepare(.setFilesOn).run(0, request.rawValue)
  }
}

extension TransferRow {
  var known: TransferStatus? { status.flatMap { try? TransferJSON.decode(TransferStatus.self, $0) } }

  /// Whether the transfer, or its file, goes with its host.
  fileprivate func isLost(_ transfer: Transfer) -> Bool {
    guard case .ended(let end)? = known?.state else { return true }
    guard case .done = end else { return false }
    return transfer.method == .get && !transfer.isShared
  }
}

extension Query {
  static let placesOnHost = Query("SELECT request FROM transfer_place WHERE host = ? ORDER BY request")
  /// No launch has worked with this end yet.
  static let loseTransfer = Query(
    "UPDATE transfer SET state = ?, status = ?, is_acknowledged = 0 WHERE request = ? AND number = ?")
}
