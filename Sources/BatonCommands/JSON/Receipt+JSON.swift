import BatonCoordinator
import BatonModel
import BatonStore

extension SubmissionReceipt {
  /// `com.example.report, request 3: scheduled, eligible in 15m`.
  func line(at now: Timestamp) -> String {
    let name = RequestName(identifier: identifier, number: number)
    let isDated = state == .scheduled && eligibleAt != .distantFuture
    return "\(name): \(state.rawValue)" + (isDated ? ", eligible \(eligibleAt.dated(from: now))" : "")
      + (replaced ? ", replaced the one that waited" : "")
  }
}

extension JSONValue {
  /// An accepted submission.
  init(_ receipt: SubmissionReceipt, _ order: SubmissionOrder, _ traceID: String, _ warning: String?) {
    self = [
      "identifier": JSONValue(receipt.identifier.rawValue),
      "request": JSONValue(receipt.number),
      "state": JSONValue(receipt.state.rawValue),
      "eligibleAt": JSONValue(receipt.eligibleAt),
      "replaced": .bool(receipt.replaced),
      "traceId": JSONValue(traceID.isEmpty ? nil : traceID),
      "submissionId": JSONValue(order.id),
      "warning": JSONValue(warning),
    ]
  }
}
