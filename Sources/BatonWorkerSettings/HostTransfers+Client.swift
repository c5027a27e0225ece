internal import BatonModel
internal import BatonProcess
package import BatonTransfers
package import BatonWorker
internal import Synchronization

extension HostTransfers {
  /// The transfers that a `TransferService` with these settings carries out, as a worker reaches them.
  package init(_ settings: TransferSettings) {
    let client = TransferClient(folder: settings.folder)
    let state = Mutex((cursor: nil as TransferCursor?, conditions: nil as Conditions?))
    self.init { orders in
      switch try await client.ask(.orders(orders)) {
      case .orders(let answers) where answers.count == orders.count:
        return answers.map { if case .refused(let text) = $0 { text } else { nil } }
      case .refused(let text): throw SystemError(.failed, text)
      case .orders, .statuses, .changes, .done: throw SystemError(.failed, "the answer fits no order")
      }
    } changes: { all, patience in
      let last = state.withLock { $0.cursor }
      let question = TransferRequest.changes(
        since: all ? nil : last, atMost: 100, wait: Int(patience.nanoseconds / 1_000_000))
      guard case .changes(let changes) = try await client.ask(question) else {
        throw SystemError(.failed, "the transfers gave no changes")
      }
      let conditions = state.withLock { state in
        state.cursor = changes.cursor
        return state.conditions
      }
      // A process that was started again knows no conditions, and its transfers wait for them.
      if last?.run != changes.cursor.run, let conditions { _ = try await client.ask(.conditions(conditions)) }
      return TransferReport(statuses: changes.statuses, isOutOfRoom: changes.isOutOfRoom)
    } tell: { conditions in
      state.withLock { $0.conditions = conditions }
      _ = try await client.ask(.conditions(conditions))
    }
  }
}
