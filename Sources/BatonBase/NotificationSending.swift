package import BatonModel

/// A notification on its way to one receiver.
package struct OutgoingNotification: Hashable, Sendable {
  /// The same in each attempt.
  package var id: String
  /// The facts as JSON, the same bytes in each attempt.
  package var content: String
  /// The facts as a value, for what is not sent as JSON.
  package var facts: JobNotification
  /// When this attempt is made, on the wall clock.
  package var date: Timestamp

  package init(id: String, content: String, facts: JobNotification, date: Timestamp) {
    (self.id, self.content, self.facts, self.date) = (id, content, facts, date)
  }
}

/// Sends notifications to one receiver.
package protocol NotificationSending: Sendable {
  /// How the receiver is reached: `webhook`, `command` or `mail`.
  var kind: ReceiverKind { get }
  /// Where it is, for operators: without a secret, and without what may be one in an address.
  var place: String { get }
  /// Makes one attempt, which ends within the receiver's time, or soon after its task was cancelled.
  func send(_ notification: OutgoingNotification) async -> DeliveryVerdict
}

package enum ReceiverKind: String, Hashable, Sendable, Codable { case webhook, command, mail }
