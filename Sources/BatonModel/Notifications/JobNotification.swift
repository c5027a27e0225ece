/// What a notification tells of.
package enum NotificationKind: String, Hashable, Sendable, Codable, CaseIterable {
  /// A request has succeeded.
  case success
  /// A request has failed.
  case failure
  /// A request has failed because its launches in a row committed nothing; or a shard of it has.
  case quarantine
  /// A batch was passed over.
  case skippedBatch
  /// A request has not started in time.
  case waits
  /// A time of a schedule was left out.
  case missed
  /// The worker of a host was lost; in the notification of a definition, a launch with it.
  case hostLost
  /// An operator tries a receiver.
  case test

  /// The keys of `notify`.
  package static let keys: [NotificationKind] = allCases.filter { $0 != .test }
}

/// The facts that a notification carries, as an object of JSON. Its text is stored with the first attempt in mind: each
/// attempt sends the same bytes.
package struct JobNotification: Hashable, Sendable, Codable {
  /// The same in each attempt. A receiver that has seen it has got a duplicate.
  package var id: String
  package var event: NotificationKind
  /// When it happened, in RFC 3339.
  package var at: String
  /// The job; `nil` for a lost host and for a test.
  package var identifier: JobIdentifier?
  /// The number of the request among those of its identifier, from 1.
  package var request: Int?
  /// The prefix of the job's namespace; `nil` if it belongs to none.
  package var namespace: String?
  /// The state of the request.
  package var state: String?
  /// Why, in words; at most 4,096 bytes.
  package var reason: String?
  /// The kind of the last launch's failure, such as `exit 75`.
  package var failure: String?
  /// The host of the last launch, or the host that was lost.
  package var host: String?
  /// How many launches the request had; of a lost host, how many were lost with it.
  package var launches: Int?
  /// When the request was submitted, in RFC 3339.
  package var submittedAt: String?
  /// When the request could have begun, or the time of the schedule that was left out, in RFC 3339.
  package var due: String?
  /// The trace id of the request: 32 hexadecimal digits.
  package var trace: String?

  package init(id: String, event: NotificationKind, at: String) { (self.id, self.event, self.at) = (id, event, at) }

  /// How often a request tells of what does not end it: skipped batches, lost launches, quarantined shards and missed
  /// times. Later ones are not told, so that one request cannot fill the outbox. Its end is told nevertheless.
  package static let mostBeforeEnd = 200
  /// The longest `reason`, in bytes.
  package static let reasonBytes = 4096

  /// What happened, in one line for people, such as `com.example.report (request 3) failed`.
  package var subject: String {
    let job = identifier.map { name in request.map { "\(name) (request \($0))" } ?? "\(name)" } ?? "a job"
    switch event {
    case .success: return "\(job) succeeded"
    case .failure: return "\(job) failed"
    case .quarantine: return state == "failed" ? "\(job) was quarantined" : "a shard of \(job) was quarantined"
    case .skippedBatch: return "\(job) skipped a batch"
    case .waits: return "\(job) has not started"
    case .missed: return "\(job) missed a time of its schedule"
    case .hostLost where identifier == nil: return "host \(host ?? "unknown") was lost"
    case .hostLost: return "\(job) lost a launch with its host"
    case .test: return "a test"
    }
  }
}

/// What an attempt to deliver a notification came to.
package enum DeliveryVerdict: Hashable, Sendable {
  /// The receiver has taken it. The text is its answer, for people.
  case accepted(String)
  /// It was not taken, with the reason in one line, and the wait that the receiver asks for. It is tried again.
  case refused(String, after: Duration? = nil)
}

/// How long notifications are tried, and how many are kept.
package struct NotificationLimits: Hashable, Sendable {
  /// For how long a notification is tried, on the steady clock (`notify.giveUpAfter`).
  package var giveUpAfter: Duration
  /// The most notifications that wait. Of more, the oldest ones count as failed.
  package var waiting: Int
  /// For how long those that have failed are kept to be seen, on the steady clock.
  package var failedFor: Duration
  /// The most of them that are kept.
  package var failed: Int

  package init(
    giveUpAfter: Duration = .seconds(3 * 86_400), waiting: Int = 100_000, failedFor: Duration = .seconds(7 * 86_400),
    failed: Int = 10_000
  ) {
    (self.giveUpAfter, self.waiting, self.failedFor, self.failed) = (giveUpAfter, waiting, failedFor, failed)
  }
}
