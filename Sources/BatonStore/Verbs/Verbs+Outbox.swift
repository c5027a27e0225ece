internal import BatonModel

// The outbox of notifications, as the steward sends and keeps it.
extension Verbs {
  func dueNotifications(
    for receiver: ReceiverName, at now: Moment, limit: Int
  ) throws -> [StoredNotification] {
    try prepare(.dueNotifications).all(receiver.rawValue, now.steady, limit, row: Self.notification)
  }

  func noteAttempts(_ attempts: [NotificationAttempt], at now: Moment) throws {
    try demandStewardship()
    for attempt in attempts {
      let key = attempt.key
      try need(.notifications(key.subject))
      let receiver = key.receiver.rawValue
      switch attempt.outcome {
      case .accepted: try prepare(.deleteNotification).run(key.subject, key.position, receiver)
      case .again(let next, let error):
        try prepare(.retryNotification).run(key.subject, key.position, receiver, next, error.boundedError)
      case .failed(let error):
        try prepare(.failNotification).run(key.subject, key.position, receiver, now.steady, error.boundedError, 1)
      }
      // Later ones wait as long as this one, and go on when it has ended.
      let next = if case .again(let next, _) = attempt.outcome { next } else { now.steady }
      try prepare(.moveLaterNotifications).run(key.subject, key.position, receiver, next)
    }
  }

  // MARK: Upkeep

  /// What the upkeep gives up, with the reason, and what it forgets.
  struct OldNotifications: Sendable {
    var failing: [(key: NotificationKey, error: String)] = []
    var dropped: [NotificationKey] = []
    var isFull = false

    var isEmpty: Bool { failing.isEmpty && dropped.isEmpty }
  }

  /// Finds at most `limit` rows of each kind. The search may read many rows, so it runs on a reading connection.
  func oldNotifications(
    for receivers: [ReceiverName], _ limits: NotificationLimits, limit: Int, at now: Moment
  ) throws -> OldNotifications {
    var old = OldNotifications()
    let named = Set(try prepare(.receiversOfNotifications).all { $0.text(0) })
    for name in named.subtracting(receivers.map(\.rawValue)).sorted() where old.failing.count < limit {
      let error = "coordinator.yaml of the coordinator that sends has no receiver '\(name)'; add it under 'receivers'"
      old.failing += try prepare(.notificationsFor).all(name, limit - old.failing.count) { (Self.key($0), error) }
    }
    try findUnsendable(&old, limits, limit: limit, at: now)
    old.dropped = try prepare(.failedBefore).all(now.steady + (.zero - limits.failedFor), limit, row: Self.key)
    let surplus = try countNotifications().failed - old.dropped.count - limits.failed
    if surplus > 0, old.dropped.count < limit {
      let known = Set(old.dropped)
      old.dropped += try prepare(.oldestFailed).all(old.dropped.count + min(surplus, limit), row: Self.key)
        .filter { !known.contains($0) }.prefix(limit - known.count)
    }
    old.isFull = old.failing.count >= limit || old.dropped.count >= limit
    return old
  }

  /// Adds those that were tried for too long, and the oldest of too many.
  private func findUnsendable(
    _ old: inout OldNotifications, _ limits: NotificationLimits, limit: Int, at now: Moment
  ) throws {
    let known = Set(old.failing.map(\.key))
    let waited = "it was not taken within \(limits.giveUpAfter.inWords)"
    let late = try prepare(.waitingSince).all(now.steady + (.zero - limits.giveUpAfter), limit) { row in
      (key: Self.key(row), error: row.optionalText(3).map { "\(waited): \($0)" } ?? waited)
    }
    old.failing += late.filter { !known.contains($0.key) }.prefix(limit - old.failing.count)
    let surplus = try countNotifications().waiting - old.failing.count - limits.waiting
    guard surplus > 0, old.failing.count < limit else { return }
    let given = Set(old.failing.map(\.key))
    let error = "more than \(limits.waiting) notifications wait, and this one was among the oldest"
    let room = min(surplus, limit - given.count)
    old.failing += try prepare(.waitingSince).all(Timestamp.distantFuture, given.count + room, row: Self.key)
      .filter { !given.contains($0) }.prefix(room).map { ($0, error) }
  }

  func keep(_ old: OldNotifications, at now: Moment) throws -> NotificationUpkeep {
    try demandStewardship()
    try need((old.failing.map(\.key) + old.dropped).map { .notifications($0.subject) })
    for one in old.failing {
      let (key, receiver) = (one.key, one.key.receiver.rawValue)
      try prepare(.failNotification).run(key.subject, key.position, receiver, now.steady, one.error.boundedError, 0)
      try prepare(.moveLaterNotifications).run(key.subject, key.position, receiver, now.steady)
    }
    for key in old.dropped {
      try prepare(.dropNotification).run(key.subject, key.position, key.receiver.rawValue)
    }
    var upkeep = NotificationUpkeep()
    (upkeep.failed, upkeep.dropped, upkeep.hasMore) = (old.failing.count, old.dropped.count, old.isFull)
    return upkeep
  }

  // MARK: Reading

  package func notifications(limit: Int) throws -> NotificationList {
    var list = NotificationList()
    list.waiting = try prepare(.waitingNotifications).all(limit, row: Self.notification)
    list.failed = try prepare(.failedNotifications).all(limit, row: Self.notification)
    (list.waitingCount, list.failedCount) = try countNotifications()
    return list
  }

  private func countNotifications() throws -> (waiting: Int, failed: Int) {
    (
      try prepare(.countWaitingNotifications).first { $0.int(0) } ?? 0,
      try prepare(.countFailedNotifications).first { $0.int(0) } ?? 0
    )
  }

  private static func key(_ row: Columns) -> NotificationKey {
    NotificationKey(subject: row.int64(0), position: row.int(1), receiver: ReceiverName(trusted: row.text(2)))
  }

  private static func notification(_ row: Columns) -> StoredNotification {
    StoredNotification(
      key: key(row), id: row.text(3), content: row.text(4), at: row.time(5), attempts: row.int(6), nextAt: row.time(7),
      error: row.optionalText(8), failedAt: row.optionalTime(9))
  }
}

extension String {
  /// The error of an attempt as it is kept.
  fileprivate var boundedError: String { bounded(toBytes: 1024) }
}

extension Query {
  private static let notificationColumns =
    "SELECT n.subject, n.position, n.receiver, n.id, n.content, n.at, n.attempts, n.next_at, n.error, n.failed_at "
    + "FROM notification n"
  /// A notification goes only when no earlier one of its subject waits for the same receiver.
  static let dueNotifications = Query(
    """
    \(notificationColumns) WHERE n.receiver = ? AND n.failed_at IS NULL AND n.next_at <= ?
      AND NOT EXISTS (SELECT 1 FROM notification e WHERE e.subject = n.subject AND e.receiver = n.receiver
        AND e.position < n.position AND e.failed_at IS NULL)
    ORDER BY n.next_at LIMIT ?
    """)
  static let deleteNotification = Query(
    "DELETE FROM notification WHERE subject = ? AND position = ? AND receiver = ? AND failed_at IS NULL")
  static let retryNotification = Query(
    """
    UPDATE notification SET attempts = attempts + 1, next_at = ?4, error = ?5
    WHERE subject = ?1 AND position = ?2 AND receiver = ?3 AND failed_at IS NULL
    """)
  static let failNotification = Query(
    """
    UPDATE notification SET attempts = attempts + ?6, failed_at = ?4, error = ?5
    WHERE subject = ?1 AND position = ?2 AND receiver = ?3 AND failed_at IS NULL
    """)
  static let moveLaterNotifications = Query(
    """
    UPDATE notification SET next_at = ?4
    WHERE subject = ?1 AND position > ?2 AND receiver = ?3 AND failed_at IS NULL
    """)
  static let dropNotification = Query(
    "DELETE FROM notification WHERE subject = ? AND position = ? AND receiver = ? AND failed_at IS NOT NULL")
  static let receiversOfNotifications = Query("SELECT DISTINCT receiver FROM notification WHERE failed_at IS NULL")
  static let notificationsFor = Query(
    "SELECT subject, position, receiver FROM notification WHERE receiver = ? AND failed_at IS NULL LIMIT ?")
  static let waitingSince = Query(
    """
    SELECT subject, position, receiver, error FROM notification WHERE failed_at IS NULL AND since <= ?
    ORDER BY since LIMIT ?
    """)
  static let failedBefore = Query(
    """
    SELECT subject, position, receiver FROM notification WHERE failed_at IS NOT NULL AND failed_at < ?
    ORDER BY failed_at LIMIT ?
    """)
  static let oldestFailed = Query(
    "SELECT subject, position, receiver FROM notification WHERE failed_at IS NOT NULL ORDER BY failed_at LIMIT ?")
  static let waitingNotifications = Query(
    "\(notificationColumns) WHERE n.failed_at IS NULL ORDER BY n.since, n.subject, n.position LIMIT ?")
  static let failedNotifications = Query(
    """
    \(notificationColumns) WHERE n.failed_at IS NOT NULL
    ORDER BY n.failed_at DESC, n.subject DESC, n.position DESC LIMIT ?
    """)
  static let countWaitingNotifications = Query("SELECT count(*) FROM notification WHERE failed_at IS NULL")
  static let countFailedNotifications = Query("SELECT count(*) FROM notification WHERE failed_at IS NOT NULL")
}
