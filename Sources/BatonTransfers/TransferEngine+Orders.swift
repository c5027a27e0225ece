internal import BatonBase
package import BatonModel
internal import BatonProcess
internal import Synchronization

/// What became of an order.
package enum OrderAnswer: Hashable, Sendable, Codable {
  /// The order is in the journal, and is carried out also after a crash.
  case taken
  /// The order was not taken. The text says why; the same order may be taken later.
  case refused(String)
}

/// A place among the changes of a host's transfers.
package struct TransferCursor: Hashable, Sendable, Codable {
  /// The run of the transfers' process. The changes of another run begin at the beginning.
  package var run: String
  package var number: UInt64

  package init(run: String, number: UInt64) { (self.run, self.number) = (run, number) }
}

/// The last states of the transfers that have changed.
package struct TransferChanges: Hashable, Sendable, Codable {
  package var statuses: [TransferStatus]
  /// Where to go on.
  package var cursor: TransferCursor
  /// Whether no further file fits on the host.
  package var isOutOfRoom: Bool
}

extension TransferEngine {
  /// Takes orders, one after the other. When it returns, what it took is durable. Each order may come again. Waits for
  /// the disk.
  package func obey(_ orders: [TransferOrder]) -> [OrderAnswer] { ordering.withLock { _ in orders.map(obey) } }

  private func obey(_ order: TransferOrder) -> OrderAnswer {
    do {
      switch order {
      case .carryOut(let assignment): return try carryOut(assignment)
      case .cancel(let key):
        guard let life = state.withLock({ $0.core.lives[key] }), !life.hasEnded else { return .taken }
        try journal.cancel(key)
        decide { core, now in core.cancel(key, at: now) }
      case .forget(let key): return try forget(key)
      case .release(let request):
        try journal.release(request)
        decide { core, now in core.release(request, at: now) }
      case .simulate(let key, let what): decide { core, now in core.simulate(what, of: key, at: now) }
      }
      return .taken
    } catch {
      return .refused("the order cannot be written down on this host: \(error)")
    }
  }

  private func carryOut(_ assignment: TransferAssignment) throws -> OrderAnswer {
    let (isKnown, isReleased, count) = state.withLock {
      ($0.core.lives[assignment.key] != nil, $0.core.isReleased(assignment.key.request), $0.core.lives.count)
    }
    if isKnown { return .taken }
    if isReleased {
      return .refused("the request \(assignment.key.request) has ended, and its files are being removed")
    }
    guard count < settings.most else { return .refused("this host has \(count) transfers, and takes no more") }
    let now = clocks.now()
    var record = TransferRecord(
      assignment, orderedAt: now.date, orderedInstant: now.instant, boot: clocks.boot())
    if let problem = assignment.transfer.problems.first {
      (record.end, record.endedAt) = (
        .failed(TransferFailure(.invalid, "The transfer is not valid: \(problem).")), now.date
      )
    }
    try journal.write(record)
    decide { [record] core, now in core.carryOut(record, boot: clocks.boot(), at: now) }
    return .taken
  }

  private func forget(_ key: TransferKey) throws -> OrderAnswer {
    guard state.withLock({ $0.core.lives[key]?.hasEnded ?? true }) else {
      return .refused("the transfer \(key) has not ended")
    }
    try journal.forget(key)
    state.withLock { state in
      _ = state.core.forget(key)
      state.journaled[key] = nil
    }
    return .taken
  }

  // MARK: What is told

  /// Transfers in the order of their keys.
  package func statuses(after key: TransferKey?, atMost most: Int) -> [TransferStatus] {
    state.withLock { $0.core.statuses(after: key, atMost: most) }
  }

  /// The transfers that have changed since `cursor`, each with its last state; all of them if the cursor is `nil` or of
  /// another run. A transfer that changes while it is told is told again.
  package func changes(since cursor: TransferCursor?, atMost most: Int) -> TransferChanges {
    let number = cursor?.run == run ? cursor?.number ?? 0 : 0
    let (changes, isOutOfRoom) = state.withLock {
      ($0.core.changes(since: number, atMost: most), $0.core.isOutOfRoom)
    }
    return TransferChanges(
      statuses: changes.map(\.status), cursor: TransferCursor(run: run, number: changes.last?.number ?? number),
      isOutOfRoom: isOutOfRoom)
  }

  /// Like `changes`, but waits for one if there is none, for at most `patience`.
  package func nextChanges(
    since cursor: TransferCursor?, atMost most: Int, patience: Duration
  ) async -> TransferChanges {
    let signal = Signal()
    let id = RandomNumbers.next()
    state.withLock { $0.waiters[id] = signal }
    defer { state.withLock { $0.waiters[id] = nil } }
    let changes = changes(since: cursor, atMost: most)
    guard changes.statuses.isEmpty else { return changes }
    try? await signal.wait { try await Task.sleep(for: patience, clock: .continuous) }
    return self.changes(since: cursor, atMost: most)
  }
}
