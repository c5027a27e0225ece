package import BatonBase
package import BatonModel
import BatonStore
import BatonTelemetry
import Logging
import Synchronization

/// How a coordinator sends notifications.
package struct NotificationSettings: Sendable {
  /// The receivers of `coordinator.yaml`.
  package var receivers: [ReceiverName: any NotificationSending]
  package var limits: NotificationLimits
  /// Draws numbers from 0 up to but not including 1, for the waits.
  package var draw: @Sendable () -> Double

  package init(
    receivers: [ReceiverName: any NotificationSending] = [:], limits: NotificationLimits = NotificationLimits(),
    draw: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
  ) {
    (self.receivers, self.limits, self.draw) = (receivers, limits, draw)
  }
}

/// Sends the notifications of the store's outbox. The rows are the queue: what a receiver has not taken is sent again
/// by this coordinator or the next one, with the same id. Each receiver has a task of its own, so none waits for
/// another.
extension Coordinator {
  func notificationLoop() async throws {
    try await warnOfUnknownReceivers()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (name, sender) in settings.notifications.receivers {
        group.addTask { try await self.send(to: name, by: sender) }
      }
      group.addTask { try await self.tellLateLoop() }
      group.addTask { try await self.keepNotificationsLoop() }
      try await group.next()
      group.cancelAll()
    }
  }

  /// How often the outbox is looked at. Any coordinator adds to it, and the steward sends.
  static let notificationInterval = Duration.seconds(1)

  private var isSteward: Bool { state.withLock { $0.core.isSteward } }

  private func send(to name: ReceiverName, by sender: any NotificationSending) async throws {
    var standing = ReceiverStanding()
    while true {
      if isSteward {
        await keepingOn(while: "sending notifications") {
          while try await self.sendRound(to: name, by: sender, &standing) {}
        }
      }
      try await clocks.sleep(Self.notificationInterval)
    }
  }

  /// Sends what is due and fits, and keeps what became of it in one write. If the process is killed before that, it is
  /// sent again.
  /// - Returns: false if nothing more is due, or if the receiver has to be left alone for now.
  private func sendRound(
    to name: ReceiverName, by sender: any NotificationSending, _ standing: inout ReceiverStanding
  ) async throws -> Bool {
    let room = standing.room(at: clocks.now().instant)
    guard room > 0 else { return false }
    let due = try await store.dueNotifications(for: name, at: now().moment, limit: room)
    guard !due.isEmpty else { return false }
    let date = now().date
    let verdicts = await withTaskGroup(of: (Int, DeliveryVerdict).self) { group in
      for (index, one) in due.enumerated() {
        group.addTask { (index, await one.send(by: sender, at: date)) }
      }
      var verdicts: [Int: DeliveryVerdict] = [:]
      for await (index, verdict) in group { verdicts[index] = verdict }
      return verdicts
    }
    // A cancelled attempt says nothing of the receiver. The next coordinator makes it again.
    try Task.checkCancellation()
    let (before, now) = (standing.failures, now())
    let attempts = due.enumerated().compactMap { index, one in
      verdicts[index].map { verdict in
        NotificationAttempt(
          one.key, standing.outcome(of: verdict, attempts: one.attempts, at: now, draw: settings.notifications.draw()))
      }
    }
    try await store.noteAttempts(attempts, at: now.moment)
    note(attempts, to: name, failuresBefore: before, standing)
    return true
  }

  /// Logs when a receiver begins to take nothing, and when it takes notifications again.
  private func note(
    _ attempts: [NotificationAttempt], to name: ReceiverName, failuresBefore before: Int, _ standing: ReceiverStanding
  ) {
    metrics.notificationsSent(attempts.count { $0.outcome == .accepted })
    let key: Logger.Metadata = ["receiver": "\(name)"]
    if before == 0, standing.failures > 0 {
      let error = attempts.lazy.compactMap { if case .again(_, let error) = $0.outcome { error } else { nil } }.first
      logger.warning("a receiver takes no notifications; they wait in the store: \(error ?? "")", metadata: key)
    } else if before > 0, standing.failures == 0 {
      logger.notice("a receiver takes notifications again", metadata: key)
    }
  }

  // MARK: Requests that have not started

  /// How often requests are looked for that have not started in time.
  static let lateInterval = Duration.seconds(5)
  private static let lateAtOnce = 50

  private func tellLateLoop() async throws {
    while true {
      try await clocks.sleep(Self.lateInterval)
      guard isSteward else { continue }
      await keepingOn(while: "telling of requests that wait") {
        while try await self.store.tellLate(at: self.now().moment, limit: Self.lateAtOnce) == Self.lateAtOnce {}
      }
    }
  }

  // MARK: Upkeep

  private static let upkeepInterval = Duration.seconds(60)
  private static let keptAtOnce = 200

  private func keepNotificationsLoop() async throws {
    while true {
      if isSteward { await keepingOn(while: "keeping the outbox of notifications") { try await self.keepOutbox() } }
      try await clocks.sleep(Self.upkeepInterval)
    }
  }

  /// Gives up what can never be sent, and forgets what has been seen for long enough.
  func keepOutbox() async throws {
    let notifications = settings.notifications
    while true {
      let upkeep = try await store.keepNotifications(
        for: notifications.receivers.keys.sorted(), notifications.limits, limit: Self.keptAtOnce, at: now().moment)
      metrics.notificationsFailed(upkeep.failed)
      if upkeep.failed > 0 {
        logger.error(
          "notifications have failed for good; 'baton notifications' says why",
          metadata: ["notifications": "\(upkeep.failed)"])
      }
      guard upkeep.hasMore else { return }
      try await clocks.sleep(.milliseconds(50))
    }
  }

  /// Runs `body`. Errors of the store are noted, and so is what ends this coordinator: they do not end the sending.
  private func keepingOn(while doing: String, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch let error as StoreError {
      if error.code != .moved { note(error, while: doing) }
    } catch {}
  }

  /// A definition can name a receiver that was taken out of coordinator.yaml.
  private func warnOfUnknownReceivers() async throws {
    let known = Set(settings.notifications.receivers.keys)
    guard let stored = try? await store.definitions() else { return }
    for one in stored {
      let unknown = (one.definition.notify?.names ?? []).subtracting(known).sorted()
      guard !unknown.isEmpty else { continue }
      logger.warning(
        """
        the definition of '\(one.definition.pattern)' tells receivers that coordinator.yaml does not have: \
        \(unknown.map(\.rawValue).joined(separator: ", ")); what they would be told counts as failed
        """)
    }
  }
}

extension StoredNotification {
  fileprivate func send(by sender: any NotificationSending, at date: Timestamp) async -> DeliveryVerdict {
    guard let facts = JobNotification(json: content) else {
      return .refused("this version cannot read the notification; run the version that wrote it, or a later one")
    }
    return await sender.send(OutgoingNotification(id: id, content: content, facts: facts, date: date))
  }
}
