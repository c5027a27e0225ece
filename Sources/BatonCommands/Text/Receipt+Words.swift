import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

extension SubmissionReceipt {
  /// The line of output: `com.example.report, request 3: scheduled, eligible in 15m`.
  func line(for order: SubmissionOrder, at now: Timestamp) -> String {
    let name = RequestName(identifier: identifier, number: number)
    let isDated = state == .scheduled && eligibleAt != .distantFuture
    return "\(name): \(state.rawValue)" + (isDated ? ", eligible \(eligibleAt.dated(from: now))" : "")
      + (flow.map { ", flow \($0.rawValue)" } ?? "") + (order.poke == nil ? replacement : joining)
  }

  private var replacement: String { replaced ? "; it replaced the request that waited" : "" }

  /// A poke replaces no request that waits: it joins that request.
  private var joining: String { replaced ? "; it joined the request that waited" : "; it made a new request" }
}
