import BatonModel
import BatonStore
import Foundation

/// The outbox of notifications: what is told, to whom, in which order, and for how long.
extension StoreConformance {
  static let notifications: [Case] = [
    Case("a failure is told to each receiver that the definition names, with its facts") { s in
      let (_, launch) = try await s.running { definition in
        definition.retry.limit = 0
        definition.notify = .telling(failure: ["team", "ops"], success: ["ops"])
      }
      s.advance(.seconds(5))
      try await s.end(launch, .failed("no disk"), kind: .exit(3))
      let record = try await s.record(launch.request)
      let told = try await s.told()
      try expect(told.map(\.receiver), ["ops", "team"], "who is told")
      try expect(Set(told.map(\.facts.id)).count, 1, "the ids of one event")
      let facts = told[0].facts
      var wanted = JobNotification(id: facts.id, event: .failure, at: facts.at)
      (wanted.identifier, wanted.request, wanted.state) = (record.identifier, 1, "failed")
      (wanted.reason, wanted.failure, wanted.host, wanted.launches) = ("no disk", "exit 3", "alpha", 1)
      (wanted.submittedAt, wanted.trace) = (facts.submittedAt, "\(record.trace.traceID)")
      try expect(facts, wanted, "the facts")
      try expect(facts.id.hasSuffix("-\(launch.request)-1"), "the id is \(facts.id)")
    },
    Case("a success is told to those who want it, and a cancelled request to none") { s in
      let (definition, launch) = try await s.running { $0.notify = .telling(failure: ["ops"], success: ["team"]) }
      try await s.end(launch)
      try expect(try await s.told().map(\.short), ["team success"], "after a success")
      try await s.submit("job", to: definition)
      try await s.end(try await s.start(definition), .expired(.cancelled(by: "ann")))
      try expect(try await s.told().count, 1, "after a cancelled request")
    },
    Case("a retry is not told, and the failure after it is") { s in
      let (definition, launch) = try await s.running { $0.notify = .telling(failure: ["ops"]) }
      try await s.end(launch, .failed("once"))
      try expect(try await s.told().isEmpty, "a failure that is tried again is told")
      s.advance(.seconds(60))
      _ = try await s.store.promote(at: s.now, limit: 9)
      try await s.end(try await s.start(definition), .failed("twice"))
      try expect(try await s.told().map(\.facts.launches), [2], "the launches")
    },
    Case("a quarantine is told once to each who is told of it or of failures") { s in
      let (definition, launch) = try await s.running { definition in
        definition.notify = .telling(failure: ["ops", "team"])
        definition.notify?.quarantine = [ReceiverName(trusted: "ops")]
      }
      try await s.end(launch, .expired(.stalled))
      for _ in 0..<2 { try await s.end(try await s.start(definition), .expired(.stalled)) }
      try expect(try await s.told().map(\.short), ["ops quarantine", "team quarantine"], "who is told of what")
    },
    Case("a launch that is lost is told to those of the definition, and its host to those of the fleet") { s in
      let (_, launch) = try await s.running { $0.notify = .telling(hostLost: ["ops"]) }
      try await s.endLease()
      let told = try await s.told()
      try expect(told.map(\.short), ["fleet hostLost", "ops hostLost"], "who is told")
      try expect(told[0].facts.identifier == nil && told[0].facts.host == "alpha", "the facts of the host")
      try expect(told[0].facts.launches, 1, "the launches that were lost")
      try expect(told[1].facts.identifier?.rawValue, "job", "the job of the launch")
      try expect(try await s.state(launch.request), .ready, "the request goes on")
      try await s.endLease()
      try expect(try await s.told().count, 2, "after the lease was ended again")
    },
    Case("a host that shuts down, or whose launches are not to blame, is not told") { s in
      let (_, _) = try await s.running { $0.notify = .telling(hostLost: ["ops"]) }
      try await s.endLease(countsAsLoss: false)
      try expect(try await s.told().isEmpty, "a blameless end is told")
    },
    Case("skipped batches are told, and a later notification of a request waits for the one before") { s in
      let (definition, launch) = try await s.running { definition in
        definition.work = Work(command: ["true"], items: .range(1...4), batchSize: 1)
        (definition.retry.limit, definition.retry.skipBatchAfter) = (1, 1)
        (definition.retry.backoff, definition.retry.skipLimit) = (.zero, 1)
        definition.notify = .telling(failure: ["ops"], skippedBatch: ["ops"])
      }
      try await s.end(launch, .failed("poison"), kind: .exit(1))
      try await s.end(try await s.start(definition), .failed("again"), kind: .exit(1))
      try await s.end(try await s.start(definition), .failed("again"), kind: .exit(1))
      try expect(try await s.told().map(\.short), ["ops skippedBatch", "ops failure"], "what is told")
      let first = try await s.due("ops")
      try expect(first.map(\.facts.event), [.skippedBatch], "what is due at first")
      try expect(first[0].facts.reason, "batch 0", "the batch")
      try await s.note(first[0], .again(at: s.now.steady + .seconds(30), error: "HTTP 503"))
      try expect(try await s.due("ops").isEmpty, "a later one is due before the one that is tried again")
      s.advance(.seconds(30))
      let again = try await s.due("ops")
      try expect(again.map(\.facts), first.map(\.facts), "what is due then, with the same id")
      try expect(again[0].row.attempts, 1, "the attempts")
      try expect(again[0].row.error, "HTTP 503", "the error")
      try expect(again[0].row.content, first[0].row.content, "the bytes that are sent")
      try await s.note(again[0], .accepted)
      try expect(try await s.due("ops").map(\.facts.event), [.failure], "what is due after it was taken")
    },
    Case("one that has failed for good holds up none, and stays to be seen") { s in
      let (definition, launch) = try await s.running { $0.notify = .telling(success: ["ops"]) }
      try await s.end(launch)
      try await s.submit("job", to: definition)
      try await s.end(try await s.start(definition))
      let due = try await s.due("ops")
      try expect(due.count, 2, "two requests hold up neither")
      try await s.note(due[0], .failed(error: "gone"))
      try expect(try await s.due("ops").map(\.facts.request), [2], "the other one is due")
      let list = try await s.store.notifications(limit: 9)
      try expect(list.failed.map(\.error), ["gone"], "what has failed")
      try expect([list.waitingCount, list.failedCount], [1, 1], "the counts")
      try await s.note(due[0], .accepted)
      try expect(try await s.store.notifications(limit: 9).failedCount, 1, "a late attempt settles it")
    },
    Case("what two receivers are sent does not depend on each other") { s in
      let (_, launch) = try await s.running { $0.notify = .telling(success: ["ops", "team"]) }
      try await s.end(launch)
      try await s.note(try await s.due("ops")[0], .again(at: s.now.steady + .seconds(600), error: "down"))
      try expect(try await s.due("team").count, 1, "what the other one is sent")
      try await s.note(try await s.due("team")[0], .accepted)
      try expect(try await s.told().map(\.receiver), ["ops"], "what is left")
    },
    Case("a request with shards is told once, with its last shard") { s in
      let (definition, launch) = try await s.spreading(4, lanes: 2) { definition in
        definition.spread?.shardSize = 2
        definition.notify = .telling(failure: ["ops"], success: ["ops"])
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      for shard in [other, launch] {
        for unit in 0..<2 { try await s.commit(shard, unit) { $0.completedUnits = Int64(unit + 1) } }
      }
      try await s.end(other)
      try expect(try await s.told().isEmpty, "the end of a shard is told")
      try await s.end(launch)
      try expect(try await s.told().map(\.short), ["ops success"], "after the last shard")
      try expect(try await s.told().map(\.facts.launches), [2], "the launches of all shards")
    },
    Case("what one request tells before its end has a bound, and its end is told nevertheless") { s in
      var schedule = JobSchedule(cron: try CronExpression("* * * * *"), timeZone: "UTC")
      schedule.missed = .skip
      let definition = try await s.define { definition in
        definition.schedule = schedule
        definition.notify = .telling(success: ["ops"])
        definition.notify?.missed = [ReceiverName(trusted: "ops")]
      }.id
      for _ in 0..<(JobNotification.mostBeforeEnd + 9) {
        s.advance(.seconds(12 * 3600))
        _ = try await s.promote()
      }
      var list = try await s.store.notifications(limit: 999)
      try expect(list.waitingCount, JobNotification.mostBeforeEnd, "what is told of times that were left out")
      let reasons = list.waiting.filter { $0.content.contains("is not told") }.map(\.key.position)
      try expect(reasons, [JobNotification.mostBeforeEnd], "the last one says that it is the last one")
      try await s.connect()
      s.advance(.seconds(60))
      _ = try await s.promote()
      try await s.end(try await s.start(definition))
      list = try await s.store.notifications(limit: 999)
      try expect(list.waitingCount, JobNotification.mostBeforeEnd + 1, "the end is told")
    },
    Case("a time of a schedule that was left out is told, with the time") { s in
      var schedule = JobSchedule(cron: try CronExpression("0 2 * * *"), timeZone: "Europe/Berlin")
      schedule.missed = .skip
      _ = try await s.define { definition in
        definition.schedule = schedule
        definition.notify = NotifyRule()
        definition.notify?.missed = [ReceiverName(trusted: "ops")]
      }
      s.advance(.seconds(12 * 3600))
      try expect(try await s.promote(), [], "what is promoted")
      let told = try await s.told()
      try expect(told.map(\.short), ["ops missed"], "what is told")
      try expect(told[0].facts.due, "2023-11-15T01:00:00.000Z", "the time that was left out")
    },
    Case("a request that has not started in time is told of once, from when it could have begun") { s in
      let definition = try await s.define { $0.notify = .waiting(.seconds(600), to: ["ops"]) }.id
      try await s.submit("job", to: definition) { $0.earliestBeginDate = .afterSubmission(.seconds(100)) }
      s.advance(.seconds(699))
      try expect(try await s.store.tellLate(at: s.now, limit: 9), 0, "what is late before its time")
      s.advance(.seconds(1))
      try expect(try await s.store.tellLate(at: s.now, limit: 9), 1, "what is late at its time")
      try expect(try await s.store.tellLate(at: s.now, limit: 9), 0, "what is late after it was told")
      let told = try await s.told()
      try expect(told.map(\.short), ["ops waits"], "what is told")
      try expect(told[0].facts.state, "scheduled", "its state, before it is promoted")
    },
    Case("a request that started in time is not told of, and one that is replaced goes on waiting") { s in
      let definition = try await s.define { $0.notify = .waiting(.seconds(600), to: ["ops"]) }.id
      try await s.connect()
      try await s.submit("job", to: definition)
      s.advance(.seconds(500))
      try await s.submit("job", to: definition)
      s.advance(.seconds(100))
      try expect(try await s.store.tellLate(at: s.now, limit: 9), 1, "the one that was replaced")
      try await s.submit("other", to: try await s.define("other") { $0.notify = .waiting(.seconds(9), to: ["ops"]) }.id)
      _ = try await s.start(definition)
      s.advance(.seconds(8))
      let other = try await s.define("third") { $0.notify = .waiting(.seconds(9), to: ["ops"]) }.id
      try await s.submit("third", to: other)
      _ = try await s.start(other)
      s.advance(.seconds(9))
      try expect(try await s.store.tellLate(at: s.now, limit: 9), 1, "the one that waits for a host")
      try expect(try await s.told().map(\.facts.identifier?.rawValue), ["job", "other"], "who has not started")
    },
    Case("what is told of a request that waits says whether its schedule is paused or its flow keeps it") { s in
      let nightly = JobSchedule(cron: try CronExpression("0 2 * * *"), timeZone: "UTC")
      _ = try await s.define { definition in
        definition.schedule = nightly
        definition.notify = .waiting(.seconds(60), to: ["ops"])
      }
      try await s.store.pauseSchedule(
        of: try StoreScenario.name("job"), by: "ana", because: "the disk is full", at: s.now)
      let first = try await s.define("first")
      let earlier = try require(JobReference("first"), "a reference")
      let after = try await s.define("second") { definition in
        definition.after = [Dependency(earlier)]
        definition.notify = .waiting(.seconds(60), to: ["ops"])
      }
      let offers = [try s.offer("first", to: first.id), try s.offer("second", to: after.id)]
      _ = try await s.store.submitFlow(offers, at: s.now)
      s.advance(.seconds(2 * 86_400))
      _ = try await s.store.tellLate(at: s.now, limit: 9)
      let reasons = try await s.told().map(\.facts.reason)
      try expect(
        reasons, ["its schedule is paused by ana: the disk is full", "others of its flow have not ended"], "the reasons"
      )
    },
    Case("what can never be sent, is too old or too much fails, and is forgotten in the end") { s in
      let (definition, launch) = try await s.running { $0.notify = .telling(success: ["ops", "gone"]) }
      try await s.end(launch)
      var limits = NotificationLimits()
      (limits.giveUpAfter, limits.failedFor, limits.waiting) = (.seconds(100), .seconds(1000), 1)
      let ops = [ReceiverName(trusted: "ops"), ReceiverName(trusted: "fleet")]
      var upkeep = try await s.store.keepNotifications(for: ops, limits, limit: 9, at: s.now)
      try expect([upkeep.failed, upkeep.dropped], [1, 0], "a receiver that is not there any more")
      var list = try await s.store.notifications(limit: 9)
      try expect(list.failed.first?.error?.contains("no receiver 'gone'") == true, "its reason: \(list.failed)")
      for number in 2...3 {
        s.advance(.seconds(1))
        try await s.submit("job", to: definition)
        try await s.end(try await s.start(definition))
        try expect(try await s.record(try await s.due("ops").last!.row.request).number, number, "the newest one")
      }
      upkeep = try await s.store.keepNotifications(for: ops, limits, limit: 9, at: s.now)
      try expect(upkeep.failed, 4, "two more for the receiver that is gone, and the two oldest of three")
      try expect(try await s.due("ops").map(\.facts.request), [3], "the newest one waits")
      s.advance(.seconds(100))
      upkeep = try await s.store.keepNotifications(for: ops, limits, limit: 9, at: s.now)
      try expect(upkeep.failed, 1, "what is too old")
      list = try await s.store.notifications(limit: 9)
      try expect([list.waitingCount, list.failedCount], [0, 6], "what there is")
      s.advance(.seconds(950))
      upkeep = try await s.store.keepNotifications(for: ops, limits, limit: 2, at: s.now)
      try expect([upkeep.dropped, upkeep.hasMore ? 1 : 0], [2, 1], "one step of what was seen for long enough")
    },
  ]
}

/// A notification of the outbox, with its facts.
private struct Told {
  var row: StoredNotification
  var facts: JobNotification
  var receiver: String { row.key.receiver.rawValue }
  var short: String { "\(receiver) \(facts.event.rawValue)" }
}

extension StoredNotification {
  fileprivate var request: RequestID { RequestID(key.subject) }
}

extension StoreScenario {
  private func facts(_ row: StoredNotification) throws -> Told {
    Told(row: row, facts: try JSONDecoder().decode(JobNotification.self, from: Data(row.content.utf8)))
  }

  /// What waits to be told, by subject, position and receiver.
  fileprivate func told() async throws -> [Told] {
    let rows = try await store.notifications(limit: 99).waiting
    return try rows.sorted {
      ($0.key.subject, $0.key.position, $0.key.receiver) < ($1.key.subject, $1.key.position, $1.key.receiver)
    }.map(facts)
  }

  fileprivate func due(_ receiver: String) async throws -> [Told] {
    try await store.dueNotifications(for: ReceiverName(trusted: receiver), at: now, limit: 99).map(facts)
      .sorted { $0.row.key.subject < $1.row.key.subject }
  }

  fileprivate func note(_ told: Told, _ outcome: NotificationAttempt.Outcome) async throws {
    try await store.noteAttempts([NotificationAttempt(told.row.key, outcome)], at: now)
  }
}

extension NotifyRule {
  fileprivate static func telling(
    failure: [String]? = nil, success: [String]? = nil, skippedBatch: [String]? = nil, hostLost: [String]? = nil
  ) -> NotifyRule {
    func names(_ texts: [String]?) -> [ReceiverName]? { texts?.map { ReceiverName(trusted: $0) } }
    var rule = NotifyRule()
    (rule.failure, rule.success) = (names(failure), names(success))
    (rule.skippedBatch, rule.hostLost) = (names(skippedBatch), names(hostLost))
    return rule
  }

  fileprivate static func waiting(_ after: Duration, to receivers: [String]) -> NotifyRule {
    var rule = NotifyRule()
    rule.waits = Patience(after: after, to: receivers.map { ReceiverName(trusted: $0) })
    return rule
  }
}
