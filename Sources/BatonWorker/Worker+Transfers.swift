import BatonBase
import BatonCore
package import BatonModel
import BatonWire
import Logging
import Synchronization

/// The transfers of this host, which another process carries out. The worker only passes on what the coordinator and
/// the process say.
package struct HostTransfers: Sendable {
  /// Gives orders to the process, at most `TransferOrder.mostInMessage`, and returns for each why it was not taken, or
  /// `nil`.
  package var obey: @Sendable ([TransferOrder]) async throws -> [String?]
  /// The statuses that have changed since the last call, or all of them if `all` is true, and whether the host has
  /// room. It waits for a change, for at most `patience`, which is from zero to `longestWait`.
  package var changes: @Sendable (_ all: Bool, _ patience: Duration) async throws -> TransferReport
  /// Tells the process the conditions of the host.
  package var tell: @Sendable (Conditions) async throws -> Void

  package init(
    obey: @escaping @Sendable ([TransferOrder]) async throws -> [String?],
    changes: @escaping @Sendable (_ all: Bool, _ patience: Duration) async throws -> TransferReport,
    tell: @escaping @Sendable (Conditions) async throws -> Void
  ) {
    (self.obey, self.changes, self.tell) = (obey, changes, tell)
  }

  /// The longest wait for a change.
  package static let longestWait = Duration.seconds(30)
  static let shortestWait = Duration.seconds(2)
}

/// What the worker keeps of transfers.
struct TransferState {
  /// The orders that the process has not taken yet.
  var orders: [TransferOrder] = []
  /// Counts the welcomes. After each one, all statuses are told again.
  var welcomes = 0
}

extension Worker {
  /// The longest time between two attempts to reach the process.
  private static let transferPatience = Duration.seconds(1)

  /// The most orders that wait for the process. The coordinator tells them again after the next welcome.
  private static let waitingOrders = 100_000

  /// Keeps orders for the process of the transfers.
  func keep(_ orders: [TransferOrder]) {
    state.withLock { state in
      let new = orders.filter { !state.transfers.orders.contains($0) }
      if state.transfers.orders.count + new.count <= Self.waitingOrders { state.transfers.orders += new }
    }
    transferSignal.raise()
  }

  /// Gives orders to the process, and says them again until it takes them.
  func orderLoop(_ transfers: HostTransfers) async throws {
    var problem: String?
    while !Task.isCancelled {
      let orders = state.withLock { Array($0.transfers.orders.prefix(TransferOrder.mostInMessage)) }
      if orders.isEmpty {
        await transferSignal.wait()
        continue
      }
      do {
        // An order must not be carried out under older conditions than the worker knows.
        try await transfers.tell(state.withLock { $0.core.conditions })
        let answers = try await transfers.obey(orders)
        let taken = zip(orders, answers).filter { $0.1 == nil }.map(\.0)
        let refused = zip(orders, answers).compactMap { $0.1 }
        settle(taken, tried: orders)
        if refused.isEmpty {
          problem = nil
          continue
        }
        note(refused[0], &problem)
      } catch is CancellationError {
        return
      } catch {
        note("\(error)", &problem)
      }
      try await clocks.sleep(Self.transferPatience)
    }
  }

  /// Logs a problem once, until there is another one or none.
  private func note(_ text: String, _ problem: inout String?) {
    if problem != text { logger.warning("the transfers of this host took no order: \(text)") }
    problem = text
  }

  /// Removes orders that were taken. Those that were refused go behind the others.
  private func settle(_ taken: [TransferOrder], tried: [TransferOrder]) {
    let (isTaken, isTried) = (Set(taken), Set(tried))
    state.withLock { state in
      let rest = state.transfers.orders
      state.transfers.orders = rest.filter { !isTried.contains($0) } + tried.filter { !isTaken.contains($0) }
    }
    let released = taken.compactMap { if case .release(let id) = $0 { id } else { nil } }
    if !released.isEmpty { say(.transfers(TransferReport(released: released))) }
  }

  /// Tells the coordinator how transfers stand: all of them after each welcome, and then what has changed.
  ///
  /// A question waits for an answer twice as long as the one before it, until something changes. A host without
  /// transfers is so left alone, and after a new welcome the coordinator waits at most as long as nothing had changed.
  func statusLoop(_ transfers: HostTransfers) async throws {
    var (told, toldRoom) = (0, nil as Bool?)
    var patience = HostTransfers.shortestWait
    while !Task.isCancelled {
      let (welcomes, isConnected) = state.withLock { ($0.transfers.welcomes, $0.connection != nil) }
      if welcomes == 0 || !isConnected {
        try await clocks.sleep(Self.statusInterval)
        continue
      }
      do {
        let changes = try await transfers.changes(welcomes != told, patience)
        let isQuiet = changes.statuses.isEmpty && welcomes == told
        patience = isQuiet ? min(patience * 2, HostTransfers.longestWait) : HostTransfers.shortestWait
        if welcomes != told { toldRoom = nil }
        told = welcomes
        for report in changes.messages(afterRoom: toldRoom) { say(.transfers(report)) }
        toldRoom = changes.isOutOfRoom
        // A transfer that runs changes all the time.
        try await clocks.sleep(Self.statusInterval)
      } catch is CancellationError {
        return
      } catch {
        // The supervisor starts the process again.
        (told, patience) = (0, HostTransfers.shortestWait)
        try await clocks.sleep(Self.transferPatience)
      }
    }
  }

  /// Tells the process the conditions of the host when they change, and again and again, because they count only for a
  /// minute.
  func conditionLoop(_ transfers: HostTransfers) async throws {
    while !Task.isCancelled {
      let isTold = (try? await transfers.tell(state.withLock { $0.core.conditions })) != nil
      let rest = isTold ? Self.conditionInterval : Self.transferPatience
      try await conditionSignal.wait { [clocks] in try await clocks.sleep(rest) }
    }
  }

  private static let conditionInterval = Duration.seconds(20)

  private static let statusInterval = Duration.milliseconds(200)
}
