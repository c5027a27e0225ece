import BatonCoordinator
import BatonModel
import BatonStore

extension SubmissionReceipt {
  /// The line of output: `com.example.report, request 3: scheduled, eligible in 15m`.
  func line(for order: SubmissionOrder, at now: Timestamp) -> String {
    let name = RequestName(identifier: identifier, number: number)
    let isDated = state == .scheduled && eligibleAt != .distantFuture
    return "\(name): \(state.rawValue)" + (isDated ? ", eligible \(eligibleAt.dated(from: now))" : "")
      + (order.poke == nil ? replacement : joining)
  }

  private var replacement: String { replaced ? "; it replaced the request that waited" : "" }

  /// A poke replaces no request that waits: it joins that request.
  private var joining: String { replaced ? "; it joined the request that waited" : "; it made a new request" }
}

extension JSONValue {
  /// An accepted submission. For a poke it also says whether the poke joined a request that waited.
  init(_ receipt: SubmissionReceipt, _ order: SubmissionOrder, _ traceID: String, _ warning: String?) {
    let members: JSONValue = [
      "identifier": JSONValue(receipt.identifier.rawValue),
      "request": JSONValue(receipt.number),
      "state": JSONValue(receipt.state.rawValue),
      "eligibleAt": JSONValue(receipt.eligibleAt),
      "replaced": .bool(receipt.replaced),
      "traceId": JSONValue(traceID.isEmpty ? nil : traceID),
      "submissionId": JSONValue(order.id),
      "warning": JSONValue(warning),
    ]
    self =
      order.poke.map { members.adding(["joined": .bool(receipt.replaced), "poke": JSONValue($0.rawValue)]) } ?? members
  }
}
