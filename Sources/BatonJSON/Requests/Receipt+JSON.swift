package import BatonCoordinator
import BatonModel
package import BatonStore

extension JSONValue {
  /// An accepted submission. For a poke it also says whether the poke joined a request that waited.
  package init(_ receipt: SubmissionReceipt, _ order: SubmissionOrder, _ traceID: String, _ warning: String?) {
    let members: JSONValue = [
      "identifier": JSONValue(receipt.identifier.rawValue),
      "request": JSONValue(receipt.number),
      "state": JSONValue(receipt.state.rawValue),
      "eligibleAt": JSONValue(receipt.eligibleAt),
      "replaced": .bool(receipt.replaced),
      "traceId": JSONValue(traceID.isEmpty ? nil : traceID),
      "submissionId": JSONValue(order.id),
      "warning": JSONValue(warning),
      "flow": JSONValue(receipt.flow.map { Int($0.rawValue) }),
    ]
    self =
      order.poke.map { members.adding(["joined": .bool(receipt.replaced), "poke": JSONValue($0.rawValue)]) } ?? members
  }
}
