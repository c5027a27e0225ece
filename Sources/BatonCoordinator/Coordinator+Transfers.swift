import BatonBase
import BatonModel
import BatonStore
import BatonWire
import Logging
import Synchronization

/// A report of a host's transfers, and the connection on which it came.
struct ArrivedReport: Sendable {
  var session: SessionID
  var process: WorkerProcess
  var report: TransferReport
}

/// What this coordinator knows of transfers besides the store: how far those that run have come, and what each
/// connection was told.
struct TransferDesk: Sendable {
  /// The last status of each transfer that has not ended, as its host told it.
  private(set) var live: [TransferKey: TransferStatus] = [:]
  private var hosts: [TransferKey: SessionID] = [:]
  private var told: [SessionID: Set<TransferOrder>] = [:]

  /// The most transfers of which the progress is kept.
  private static let most = 100_000

  /// Keeps the statuses of transfers that have not ended.
  /// - Returns: the part of the report that the store has to know: what has ended, and what this connection has not
  ///   told before.
  mutating func note(_ report: TransferReport, from session: SessionID) -> TransferReport {
    var news = TransferReport(released: report.released)
    for status in report.statuses {
      if case .ended = status.state {
        live[status.key] = nil
        hosts[status.key] = nil
        news.statuses.append(status)
        continue
      }
      if hosts[status.key] != session { news.statuses.append(status) }
      guard live[status.key] != nil || live.count < Self.most else { continue }
      live[status.key] = status
      hosts[status.key] = session
    }
    if !report.released.isEmpty { release(Set(report.released), of: session) }
    return news
  }

  /// Forgets the transfers of requests of which the host has promised to remove everything.
  private mutating func release(_ requests: Set<RequestID>, of session: SessionID) {
    told[session] = told[session]?.filter { !requests.contains($0.request) }
    for key in live.keys where requests.contains(key.request) && hosts[key] == session {
      (live[key], hosts[key]) = (nil, nil)
    }
  }

  /// The number of transfers that have not ended, by state.
  var stages: [CoordinatorGauges.TransferStage: Int] {
    live.values.reduce(into: [:]) { counts, status in
      switch status.state {
      case .waiting: counts[.waiting, default: 0] += 1
      case .running: counts[.running, default: 0] += 1
      case .ended: break
      }
    }
  }

  /// The orders that the connection has not been told, which count as told from now on.
  mutating func news(_ orders: [TransferOrder], for session: SessionID) -> [TransferOrder] {
    let new = orders.filter { told[session]?.contains($0) != true }
    if !new.isEmpty { told[session, default: []].formUnion(new) }
    return new
  }

  mutating func forget(_ session: SessionID) {
    told[session] = nil
    for (key, owner) in hosts where owner == session { (live[key], hosts[key]) = (nil, nil) }
  }
}

extension TransferOrder {
  /// The request that the order is about.
  fileprivate var request: RequestID {
    switch self {
    case .carryOut(let assignment): assignment.key.request
    case .cancel(let key), .forget(let key), .simulate(let key, _): key.request
    case .release(let id): id
    }
  }
}

/// Transfers: hosts are told what to carry out, and what they say is stored. Orders follow from the store's rows alone,
/// so an order that was lost is told again.
extension Coordinator {
  /// How often the store is asked for new orders.
  private static let transferInterval = Duration.milliseconds(500)

  /// Keeps a report until the store has it. If the mailbox is full, the connection ends, and the host tells everything
  /// again.
  func note(_ report: TransferReport, from id: SessionID) {
    let (process, news) = state.withLock { state in
      guard let process = state.core.attachedProcess(id) else { return (nil as WorkerProcess?, TransferReport()) }
      if let isOutOfRoom = report.isOutOfRoom { state.core.noteRoom(isOutOfRoom, on: process.host) }
      return (process, state.transfers.note(report, from: id))
    }
    guard let process, !news.isEmpty else { return }
    if !transferReports.send(ArrivedReport(session: id, process: process, report: news)) {
      state.withLock { $0.links[id] }?.connection.close()
    }
  }

  func transferReportLoop() async throws {
    while let reports = await transferReports.receive() {
      for one in reports { try await keep(one) }
      transferSignal.raise()
    }
  }

  private func keep(_ one: ArrivedReport) async throws {
    let news: TransferNews
    do {
      news = try await persistently { try await store.noteTransfers(one.report, from: one.process, at: now().moment) }
    } catch let error as StoreError {
      // The host tells it again after it has connected again.
      note(error, while: "storing how transfers have ended")
      return state.withLock { $0.links[one.session] }?.connection.close() ?? ()
    }
    decide { state in
      state.core.transfersEnded(news.nextDue)
      Self.tell(news.orders, to: one.session, &state)
    }
    tell(news.ended)
  }

  /// Tells people and metrics of transfers that have ended.
  func tell(_ ended: [TransferNews.EndedTransfer]) {
    for one in ended {
      metrics.transferEnded(one.end, one.method, bytes: one.bytes)
      watchers.changed(one.key.request)
    }
  }

  /// Tells attached hosts what is new.
  func transferOrderLoop() async throws {
    while true {
      try await transferSignal.wait { [clocks] in try await clocks.sleep(Self.transferInterval) }
      let sessions = state.withLock { $0.core.transferSessions }
      if sessions.isEmpty { continue }
      do {
        let orders = try await store.transferOrders(of: Set(sessions.keys))
        state.withLock { state in
          for (host, session) in sessions.sorted(by: { $0.key < $1.key }) {
            Self.tell(state.transfers.news(orders[host] ?? [], for: session), to: session, &state)
          }
        }
      } catch let error as StoreError where !error.endsCoordinator {
        note(error, while: "reading what hosts have to transfer")
      }
    }
  }

  static func tell(_ orders: [TransferOrder], to session: SessionID, _ state: inout State) {
    guard state.core.attachedProcess(session) != nil, let link = state.links[session] else { return }
    var rest = orders[...]
    while !rest.isEmpty {
      link.connection.down.send(.transfers(Array(rest.prefix(TransferOrder.mostInMessage))))
      rest = rest.dropFirst(TransferOrder.mostInMessage)
    }
  }
}
