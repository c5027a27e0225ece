package import BatonModel

/// A transfer as the store has it.
package struct StoredTransfer: Hashable, Sendable {
  package var key: TransferKey
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var requestNumber: Int
  package var host: HostName
  package var transfer: Transfer
  /// How it ended; `nil` if it has not.
  package var status: TransferStatus?
  package var isCancelling: Bool
  /// The last launch that was told of the end; `nil` if none was.
  package var told: Int?
}

extension Verbs {
  /// What the hosts are told of transfers that have not ended, and of requests that have; by the name of the host.
  package func transferOrders(of hosts: Set<HostName>) throws -> [HostName: [TransferOrder]] {
    var orders: [HostName: [TransferOrder]] = [:]
    for (host, request) in try prepare(.releases).all(row: { (HostName($0.text(0)), RequestID($0.int64(1))) })
    where hosts.contains(host) {
      orders[host, default: []].append(.release(request))
    }
    let open = try prepare(.openTransfers).all { row in
      (
        host: HostName(row.text(0)), key: TransferKey(request: RequestID(row.int64(1)), index: row.int(2)),
        content: row.text(3), isCancelling: row.bool(4), identifier: JobIdentifier(trusted: row.text(5)),
        pattern: IdentifierPattern(trusted: row.text(6))
      )
    }
    for one in open where hosts.contains(one.host) {
      let transfer = try TransferJSON.decode(Transfer.self, one.content)
      orders[one.host, default: []].append(
        .carryOut(
          TransferAssignment(key: one.key, transfer: transfer, identifier: one.identifier, pattern: one.pattern)))
      if one.isCancelling { orders[one.host, default: []].append(.cancel(one.key)) }
    }
    return orders
  }

  /// The transfers of requests that have not ended, in the order of their keys; at most `limit`.
  package func transfers(on host: HostName?, limit: Int) throws -> [StoredTransfer] {
    try prepare(.listTransfers).all(host?.rawValue, limit) { try Self.storedTransfer($0) }
  }

  /// How many requests have transfers on each host that have not ended; hosts without any are left out.
  func transferLoads() throws -> [HostName: Int] {
    Dictionary(uniqueKeysWithValues: try prepare(.transferLoads).all { (HostName($0.text(0)), $0.int(1)) })
  }

  /// The transfer of a request that has not ended; `nil` if there is none.
  func storedTransfer(_ key: TransferKey) throws -> StoredTransfer? {
    try prepare(.listedTransfer).first(key.request.rawValue, key.index) { try Self.storedTransfer($0) }
  }

  private static func storedTransfer(_ row: Columns) throws -> StoredTransfer {
    StoredTransfer(
      key: TransferKey(request: RequestID(row.int64(0)), index: row.int(1)),
      identifier: JobIdentifier(trusted: row.text(2)), requestNumber: row.int(3), host: HostName(row.text(4)),
      transfer: try TransferJSON.decode(Transfer.self, row.text(5)),
      status: try row.optionalText(6).map { try TransferJSON.decode(TransferStatus.self, $0) },
      isCancelling: row.bool(7), told: row.optionalInt64(8).map(Int.init))
  }
}

extension Query {
  static let releases = Query(
    """
    SELECT h.name, p.request FROM transfer_place p JOIN host h ON h.id = p.host LEFT JOIN request r ON r.id = p.request
    WHERE r.id IS NULL OR r.state >= 3 OR r.files_on IS NULL ORDER BY p.request
    """)
  static let openTransfers = Query(
    """
    SELECT h.name, t.request, t.number, t.content, t.is_cancelling, i.name, n.name
    FROM transfer_place p JOIN host h ON h.id = p.host JOIN request r ON r.id = p.request
      JOIN transfer t ON t.request = p.request JOIN identifier i ON i.id = r.identifier
      JOIN definition d ON d.id = r.definition JOIN pattern n ON n.id = d.pattern
    WHERE t.state = 0 AND r.state <= 2 AND r.files_on IS NOT NULL ORDER BY t.request, t.number
    """)
  private static let listed = """
    SELECT t.request, t.number, i.name, r.number, h.name, t.content, t.status, t.is_cancelling, t.told
    FROM transfer_place p JOIN host h ON h.id = p.host JOIN request r ON r.id = p.request
      JOIN transfer t ON t.request = p.request JOIN identifier i ON i.id = r.identifier
    """
  static let listTransfers = Query(
    listed + " WHERE (?1 IS NULL OR h.name = ?1) AND r.state <= 2 ORDER BY t.request, t.number LIMIT ?2")
  static let listedTransfer = Query(listed + " WHERE t.request = ? AND t.number = ? AND r.state <= 2")
}
