package import BatonModel

/// Names a row of the outbox of notifications.
package struct NotificationKey: Hashable, Sendable {
  /// The request, or minus the number of the host's row.
  package var subject: Int64
  /// Counts the notifications of the subject: a later one has a larger number.
  package var position: Int
  package var receiver: ReceiverName

  package init(subject: Int64, position: Int, receiver: ReceiverName) {
    (self.subject, self.position, self.receiver) = (subject, position, receiver)
  }
}

/// A notification that its receiver has not taken yet, or that has failed for good.
package struct StoredNotification: Hashable, Sendable {
  package var key: NotificationKey
  /// The same in each attempt.
  package var id: String
  /// The facts as JSON: each attempt sends these bytes.
  package var content: String
  /// When it happened, on the wall clock.
  package var at: Timestamp
  package var attempts: Int
  /// When it is tried next, on the steady clock.
  package var nextAt: Timestamp
  /// Why the last attempt failed; `nil` before the first one has.
  package var error: String?
  /// Since when it counts as failed, on the steady clock; `nil` while it waits.
  package var failedAt: Timestamp?
}

/// What an attempt to send a notification came to.
package struct NotificationAttempt: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    /// The receiver has it: the row is deleted.
    case accepted
    /// It is tried again at this time, on the steady clock.
    case again(at: Timestamp, error: String)
    /// It is not tried again.
    case failed(error: String)
  }
  package var key: NotificationKey
  package var outcome: Outcome

  package init(_ key: NotificationKey, _ outcome: Outcome) { (self.key, self.outcome) = (key, outcome) }
}

/// The outbox as operators see it.
package struct NotificationList: Hashable, Sendable {
  /// The oldest of those that wait.
  package var waiting: [StoredNotification] = []
  /// The last of those that have failed.
  package var failed: [StoredNotification] = []
  /// How many there are of each, also of those that are not in the lists.
  package var waitingCount = 0
  package var failedCount = 0

  package init() {}
}

/// What one step of the upkeep has done to the outbox.
package struct NotificationUpkeep: Hashable, Sendable {
  /// How many notifications have failed now.
  package var failed = 0
  /// How many that had failed are not kept any more.
  package var dropped = 0
  package var hasMore = false

  package init() {}
}

/// The outbox of notifications. The transaction in which something happens adds the rows (`Verbs.tell`), so that no
/// crash loses them; the steward sends them, and a receiver has each at least once.
package protocol NotificationStore: Sendable {
  /// The notifications for a receiver whose time has come, the longest due first. There is one of each subject at most:
  /// a later one waits for the end of the one before.
  func dueNotifications(for receiver: ReceiverName, at now: Moment, limit: Int) async throws -> [StoredNotification]
  /// Keeps what attempts have come to. What another coordinator has settled meanwhile is left alone.
  func noteAttempts(_ attempts: [NotificationAttempt], at now: Moment) async throws
  /// Gives up notifications for receivers that are not in the list, those that are older than `limits` allows, and the
  /// oldest ones beyond its number, and forgets old failed ones. One step changes at most `limit` rows.
  func keepNotifications(
    for receivers: [ReceiverName], _ limits: NotificationLimits, limit: Int, at now: Moment
  ) async throws -> NotificationUpkeep
  /// The outbox, at most `limit` rows of each list.
  func notifications(limit: Int) async throws -> NotificationList
  /// Queues notifications of requests that have not started in time, at most `limit` in one step.
  /// - Returns: how many requests were looked at.
  func tellLate(at now: Moment, limit: Int) async throws -> Int
}
