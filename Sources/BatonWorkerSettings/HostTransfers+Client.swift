internal import BatonModel
internal import BatonProcess
package import BatonTransfers
package import BatonWorker
internal import Synchronization

extension HostTransfers {
  /// The transfers that a `TransferService` with these settings carries out, as a worker reaches them.
  package init(_ settings: TransferSettings) {
    let client = TransferClient(folder: settings.folder)
    let cursor = Mutex<TransferCursor?>(nil)
    self.init { orders in
      switch try await client.ask(.orders(orders)) {
      case .orders(let answers) where answers.count == orders.count:
        return answers.map { if case .refused(let text) = $0 { text } else { nil } }
      case .refused(let text): throw SystemError(.failed, text)
      case .orders, .statuses, .changes, .done: throw SystemError(.failed, "the answer fits no order")
      }
    } changes: { all in
      let since = all ? nil : cursor.withLock { $0 }
      guard case .changes(let changes) = try await client.ask(.changes(since: since, atMost: 100, wait: 2_000)) else {
        throw SystemError(.failed, "the transfers gave no changes")
      }
      cursor.withLock { $0 = changes.cursor }
      return TransferReport(statuses: changes.statuses, isOutOfRoom: changes.isOutOfRoom)
    } tell: { conditions in
      _ = try await client.ask(.conditions(conditions))
    }
  }
}
