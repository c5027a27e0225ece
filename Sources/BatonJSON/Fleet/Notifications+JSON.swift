import BatonBase
package import BatonCoordinator
package import BatonModel

extension JSONValue {
  /// A notification of the outbox, as programs see it.
  package init(_ report: NotificationReport) {
    let facts = report.facts
    func time(_ nanoseconds: Int64?) -> Timestamp? { nanoseconds.map { Timestamp(nanoseconds: $0) } }
    self = [
      "id": JSONValue(facts.id), "receiver": JSONValue(report.receiver.rawValue),
      "state": JSONValue(report.failedAt == nil ? "waiting" : "failed"), "event": JSONValue(facts.event.rawValue),
      "at": JSONValue(facts.at), "identifier": JSONValue(facts.identifier?.rawValue),
      "request": JSONValue(facts.request), "host": JSONValue(facts.host), "reason": JSONValue(facts.reason),
      "attempts": JSONValue(report.attempts), "nextAt": JSONValue(time(report.nextAt)),
      "failedAt": JSONValue(time(report.failedAt)), "error": JSONValue(report.error),
    ]
  }

  package init(_ receiver: ReceiverReport) {
    self = [
      "name": JSONValue(receiver.name.rawValue), "kind": JSONValue(receiver.kind.rawValue),
      "place": JSONValue(receiver.place),
    ]
  }

  package init(_ answer: ReceiverAnswer, of receiver: ReceiverName) {
    self = [
      "receiver": JSONValue(receiver.rawValue), "accepted": .bool(answer.isAccepted), "answer": JSONValue(answer.text),
    ]
  }
}
