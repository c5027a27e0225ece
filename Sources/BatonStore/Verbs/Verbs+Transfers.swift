package import BatonModel

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What follows from a host's report of its transfers.
package struct TransferNews: Hashable, Sendable {
  /// What the host is told.
  package var orders: [TransferOrder] = []
  /// When requests that the ends of transfers have launched may start.
  package var nextDue = NextDue()
  /// The transfers of which the end is in the store now, and was not before.
  package var ended: [EndedTransfer] = []

  package struct EndedTransfer: Hashable, Sendable {
    package var key: TransferKey
    package var method: Transfer.Method
    package var end: TransferEnd
    /// How many bytes had arrived, or had been sent.
    package var bytes: Int64
  }

  package init() {}

  mutating func join(_ other: TransferNews) {
    orders += other.orders
    ended += other.ended
    nextDue.join(other.nextDue)
  }
}

/// The row of a transfer.
struct TransferRow {
  var entry: TransferBook.Entry
  var content: String
  var status: String?

  var transfer: Transfer? { try? TransferJSON.decode(Transfer.self, content) }

  var event: TransferEvent? {
    guard let transfer, let status, let known = try? TransferJSON.decode(TransferStatus.self, status),
      case .ended(let end) = known.state
    else { return nil }
    return TransferEvent(index: entry.index, transfer, end, isNew: !entry.isAcknowledged)
  }
}

/// Where the transfers of a request are carried out, and how often they have launched it.
struct TransferPlace {
  var host: Int64
  var limiter: TransferLimiter
}

enum TransferJSON {
  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }
}

extension Verbs {
  // MARK: Placing

  /// Gives the transfers of the candidate's definition to the host, and lets the request wait for them.
  /// - Returns: when to look at the request again. That is no time, unless a host still has files of an earlier run of
  ///   the request.
  func placeTransfers(
    of candidate: Candidate, _ definition: FrozenDefinition, on host: Int64, at now: Moment
  ) throws
    -> NextDue
  {
    let request = candidate.request.rawValue
    try need(.transfers(candidate.request))
    try count(pattern: definition.pattern, from: .ready, to: .scheduled)
    var due = try passTurn(of: candidate.identifier, definition.definition, at: now)
    guard try place(of: candidate.request) == nil else {
      let again = now.steady + Self.releaseWait
      try prepare(.setReadiness).run(
        RequestState.scheduled.code, Cause.backingOff.rawValue, again, request, now.date)
      due.join(NextDue(steady: again))
      return due
    }
    let submittedAt = try prepare(.submittedAt).first(request) { $0.time(0) } ?? now.date
    let transfers = (definition.definition.transfers ?? []).map { $0.resolved(submittedAt: submittedAt) }
    try insert(transfers, from: 0, of: request, on: host)
    try prepare(.setReadiness).run(
      RequestState.scheduled.code, Cause.backingOff.rawValue, Timestamp.distantFuture, request, now.date)
    return due
  }

  /// For how many more requests the host may get transfers now.
  func transferRoom(on host: Int64, isOutOfRoom: Bool) throws -> Int {
    try need(.openTransfersOn(host))
    let requests = try prepare(.transferRequestsOn).first(host) { $0.int(0) } ?? 0
    let obstacles = Policy.obstaclesToTransfers(requests: requests, isOutOfRoom: isOutOfRoom)
    return obstacles.isEmpty ? Policy.transferRequestsOnHost - requests : 0
  }

  /// How long a request waits for a host that has to remove files of an earlier run of the request.
  private static let releaseWait = Duration.seconds(2)

  /// What becomes of the transfers of a waiting request that is submitted again: those of the same definition go on,
  /// and others begin again.
  /// - Returns: the readiness of the request, which waits for transfers that go on.
  func replaceTransfers(
    of waiting: IdentifierRow.Waiting, by new: NewRequest, _ readiness: Readiness, at now: Moment
  ) throws -> Readiness {
    guard try knownDefinition(waiting.definition).definition.transfers != nil else { return readiness }
    let id = RequestID(waiting.id)
    try need(.transfers(id))
    let book = TransferBook(try transferRows(of: id).map(\.entry))
    if book.entries.isEmpty { return readiness }
    guard waiting.definition == new.definition.id else {
      try dropTransfers(of: id)
      return readiness
    }
    guard book.turn == .wait, readiness.state == .ready else { return readiness }
    return .waitingForTransfers
  }

  /// Why a launch by hand would find no files; `nil` if nothing is missing.
  func transfersMissing(for request: RequestRecord) throws -> String? {
    guard try knownDefinition(request.definition).definition.transfers != nil, request.launches == 0 else { return nil }
    try need(.transfers(request.id))
    let book = TransferBook(try transferRows(of: request.id).map(\.entry))
    if book.entries.isEmpty { return "its transfers have not begun" }
    return book.turn == .wait ? "its transfers have not ended" : nil
  }

  private func insert(_ transfers: [Transfer], from first: Int, of request: Int64, on host: Int64) throws {
    if try place(of: RequestID(request)) == nil { try prepare(.insertTransferPlace).run(request, host) }
    for (index, transfer) in transfers.enumerated() {
      try prepare(.insertTransfer).run(request, first + index, try TransferJSON.text(transfer), transfer.group)
    }
    try prepare(.setFilesOn).run(host, request)
  }

  // MARK: Launches

  /// The ends of transfers that a launch which starts now is told of.
  func tellTransfers(of request: RequestID, to launch: Int) throws -> [TransferEvent] {
    try need(.transfers(request))
    let rows = try transferRows(of: request)
    let book = TransferBook(rows.map(\.entry))
    for one in book.news { try prepare(.tellTransfer).run(launch, launch, request.rawValue, one.index) }
    let told = Set(book.events.map(\.index))
    return rows.filter { told.contains($0.entry.index) }.compactMap(\.event)
  }

  /// What a launch that runs was told of when it started.
  func toldTransfers(of launch: LaunchKey) throws -> [TransferEvent] {
    try need(.transfers(launch.request))
    return try transferRows(of: launch.request).filter { $0.entry.told == launch.number || $0.entry.isAcknowledged }
      .compactMap(\.event)
  }

  /// Takes what a checkpoint says of transfers: it acknowledges what its launch was told, and may add others.
  /// - Parameter host: the host of the launch, which carries out added transfers unless another host has those of the
  ///   request already.
  /// - Returns: why the checkpoint is refused; `nil` if it is not.
  func takeTransfers(_ checkpoint: Checkpoint, on host: Int64) throws -> String? {
    let id = checkpoint.launch.request
    try need(.transfers(id))
    let book = TransferBook(try transferRows(of: id).map(\.entry))
    guard book.entries.count + checkpoint.transfers.count <= Definition.Limits.transfersOfRequest else {
      return "the request has \(book.entries.count) transfers; it may have \(Definition.Limits.transfersOfRequest)"
    }
    if let problem = checkpoint.transfers.lazy.compactMap(\.problems.first).first {
      return "a transfer that the launch adds is not valid: \(problem)"
    }
    try acknowledge(book, by: checkpoint.launch.number, of: id)
    if checkpoint.transfers.isEmpty { return nil }
    try insert(
      checkpoint.transfers, from: book.next(checkpoint.transfers.count).lowerBound, of: id.rawValue,
      on: try place(of: id)?.host ?? host)
    return nil
  }

  private func acknowledge(_ book: TransferBook, by launch: Int, of request: RequestID) throws {
    for one in book.acknowledged(by: launch) {
      try prepare(.acknowledgeTransfer).run(request.rawValue, one.index)
    }
  }

  /// What becomes of a request whose launch has finished, if its transfers have not: it waits for them, or it is
  /// launched with their ends. What the launch was told counts as acknowledged, because it succeeded.
  /// - Returns: `nil` if the request has ended.
  func goOnWithTransfers(_ request: LaunchedRequest, at now: Moment) throws -> Readiness? {
    try need(.transfers(request.id))
    var book = TransferBook(try transferRows(of: request.id).map(\.entry))
    try acknowledge(book, by: request.launches, of: request.id)
    for index in book.entries.indices where book.entries[index].told == request.launches {
      book.entries[index].isAcknowledged = true
    }
    if book.turn == .none { return nil }
    try prepare(.reopenProgress).run(request.id.rawValue)
    let eligible = book.turn == .wait ? Timestamp.distantFuture : try countLaunch(of: request.id, at: now)
    return Readiness(state: .scheduled, eligibleAt: eligible, cause: .backingOff)
  }

  /// Counts a launch that transfers ask for, and says when it may start (contract, row 40).
  private func countLaunch(of request: RequestID, at now: Moment) throws -> Timestamp {
    guard var place = try place(of: request) else { return now.steady }
    let delay = place.limiter.launch(at: now.steady, limits.transferLaunches)
    try prepare(.setTransferLimiter).run(place.limiter.launches, place.limiter.last, request.rawValue)
    return now.steady + delay
  }

  // MARK: Reports of hosts

  /// Takes a host's report: keeps how transfers have ended, and launches the requests whose groups have ended with it.
  package func noteTransfers(
    _ report: TransferReport, from process: WorkerProcess, at now: Moment
  ) throws
    -> TransferNews
  {
    var news = TransferNews()
    guard let host = try holder(process) else { return news }
    var requests: Set<RequestID> = []
    try need(
      report.statuses.flatMap { [.identifierOf($0.key.request), .transfers($0.key.request)] }
        + report.released.map { .transfers($0) })
    for status in report.statuses {
      let id = status.key.request
      let row = try transferRow(status.key)
      guard let row, let transfer = row.transfer, try place(of: id)?.host == host, try isWanted(id) else {
        news.orders.append(.release(id))
        continue
      }
      guard case .ended(let end) = status.state else { continue }
      news.orders.append(.forget(status.key))
      if row.entry.hasEnded { continue }
      try endTransfer(status, end, on: host)
      news.ended.append(
        TransferNews.EndedTransfer(key: status.key, method: transfer.method, end: end, bytes: status.bytes))
      requests.insert(id)
    }
    for id in requests.sorted() { news.nextDue.join(try wake(id, at: now)) }
    for id in report.released {
      try need(.transfers(id))
      if try !isWanted(id) { try prepare(.deleteTransferPlace).run(id.rawValue, host) }
    }
    return news
  }

  /// Keeps how a transfer has ended.
  func endTransfer(_ status: TransferStatus, _ end: TransferEnd, on host: Int64) throws {
    let key = status.key
    try prepare(.endTransfer).run(end.code, try TransferJSON.text(status), host, key.request.rawValue, key.index)
    try queueTransferSpan(key)
  }

  /// Whether the request has not ended, and has transfers.
  func isWanted(_ request: RequestID) throws -> Bool {
    try prepare(.wantsTransfers).first(request.rawValue, row: { _ in true }) ?? false
  }

  /// Makes the request due if it waits for transfers of which a whole group has ended.
  func wake(_ request: RequestID, at now: Moment) throws -> NextDue {
    let rows = try transferRows(of: request)
    guard TransferBook(rows.map(\.entry)).turn == .launch, let place = try place(of: request) else { return NextDue() }
    let isShared = rows.allSatisfy { $0.transfer?.isShared ?? false }
    try prepare(.setFilesOn).run(isShared ? 0 : place.host, request.rawValue)
    // It may wait for something else still.
    guard try prepare(.waitsForTransfers).first(request.rawValue, Timestamp.distantFuture, row: { _ in true }) == true
    else { return NextDue() }
    let due = try countLaunch(of: request, at: now)
    try prepare(.setEligible).run(due, request.rawValue)
    return NextDue(steady: due)
  }

  /// Asks the host of a transfer to end it. The end follows when the host has said so.
  /// - Throws: `.notFound` if there is no such transfer.
  package func cancelTransfer(_ key: TransferKey) throws {
    try need(.transfers(key.request))
    guard let row = try transferRow(key) else {
      throw StoreError(.notFound, "There is no transfer \(key); 'baton transfers' lists them.")
    }
    if row.entry.hasEnded { throw StoreError(.refused, "The transfer \(key) has ended already.") }
    try prepare(.cancelTransfer).run(key.request.rawValue, key.index)
  }

  // MARK: Rows

  func transferRows(of request: RequestID) throws -> [TransferRow] {
    try prepare(.transfersOfRequest).all(request.rawValue, row: Self.transferRow)
  }

  private func transferRow(_ key: TransferKey) throws -> TransferRow? {
    try prepare(.transfer).first(key.request.rawValue, key.index, row: Self.transferRow)
  }

  private static func transferRow(_ row: Columns) -> TransferRow {
    TransferRow(
      entry: TransferBook.Entry(
        row.int(0), group: row.text(2), hasEnded: row.int(3) > 0, told: row.optionalInt64(5).map(Int.init),
        isAcknowledged: row.bool(6)), content: row.text(1), status: row.optionalText(4))
  }

  func place(of request: RequestID) throws -> TransferPlace? {
    try prepare(.transferPlace).first(request.rawValue) { row in
      TransferPlace(
        host: row.int64(0), limiter: TransferLimiter(launches: row.int(1), last: row.optionalTime(2)))
    }
  }

  /// Forgets the transfers of a request that begins again from the beginning.
  func dropTransfers(of request: RequestID) throws {
    try need(.transfers(request))
    try dropTransferSpans(of: request)
    try prepare(.dropTransfers).run(request.rawValue)
    try prepare(.clearFilesOn).run(request.rawValue)
  }
}

extension Query {
  private static let transferColumns = "number, content, part, state, status, told, is_acknowledged"
  static let transfersOfRequest = Query(
    "SELECT \(transferColumns) FROM transfer WHERE request = ? ORDER BY number")
  static let transfer = Query("SELECT \(transferColumns) FROM transfer WHERE request = ? AND number = ?")
  static let insertTransfer = Query("INSERT INTO transfer (request, number, content, part) VALUES (?, ?, ?, ?)")
  static let endTransfer = Query(
    "UPDATE transfer SET state = ?, status = ?, ended_on = ? WHERE request = ? AND number = ? AND state = 0")
  static let tellTransfer = Query(
    "UPDATE transfer SET told = ?, first_told = coalesce(first_told, ?) WHERE request = ? AND number = ?")
  static let acknowledgeTransfer = Query("UPDATE transfer SET is_acknowledged = 1 WHERE request = ? AND number = ?")
  static let cancelTransfer = Query(
    "UPDATE transfer SET is_cancelling = 1 WHERE request = ? AND number = ? AND state = 0")
  static let dropTransfers = Query("DELETE FROM transfer WHERE request = ?")
  static let transferPlace = Query("SELECT host, launches, last_at FROM transfer_place WHERE request = ?")
  static let insertTransferPlace = Query("INSERT INTO transfer_place (request, host) VALUES (?, ?)")
  static let setTransferLimiter = Query("UPDATE transfer_place SET launches = ?, last_at = ? WHERE request = ?")
  static let deleteTransferPlace = Query("DELETE FROM transfer_place WHERE request = ? AND host = ?")
  static let setFilesOn = Query("UPDATE request SET files_on = ? WHERE id = ?")
  static let clearFilesOn = Query("UPDATE request SET files_on = NULL WHERE id = ?")
  private static let hasOpen = "EXISTS (SELECT 1 FROM transfer t WHERE t.request = p.request AND t.state = 0)"
  static let transferRequestsOn = Query("SELECT count(*) FROM transfer_place p WHERE p.host = ? AND \(hasOpen)")
  static let transferLoads = Query(
    """
    SELECT h.name, count(*) FROM transfer_place p JOIN host h ON h.id = p.host WHERE \(hasOpen) GROUP BY h.id, h.name
    """)
  static let submittedAt = Query("SELECT submitted_at FROM request WHERE id = ?")
  static let wantsTransfers = Query("SELECT 1 FROM request WHERE id = ? AND state <= 2 AND files_on IS NOT NULL")
  /// A request that waits for its transfers is scheduled without a time.
  static let waitsForTransfers = Query(
    "SELECT 1 FROM request WHERE id = ?1 AND state = 0 AND cause = 2 AND eligible_at = ?2 AND first_unit IS NULL")
  static let setEligible = Query("UPDATE request SET eligible_at = ? WHERE id = ?")
  /// A launch that succeeded may have reached the end of its work. The next one has new work.
  static let reopenProgress = Query("UPDATE progress SET reaches_end = 0 WHERE request = ?")
}
