import BatonModel
import BatonStore

/// What operators look back at, and what is forgotten.
extension StoreConformance {
  static let histories: [Case] = [
    Case("a host that is gone is forgotten with all that is known of it, and comes back as a new one") { s in
      try await s.connect(report: StoreScenario.word("1.0", slots: 2))
      try await s.store.setDraining(StoreScenario.host, true, at: s.now)
      try await s.store.setEvicted(try StoreScenario.pattern("job"), from: StoreScenario.host, true)
      try await expectRefusal(.refused, saying: ["holds its lease"]) {
        try await s.store.forgetHost(StoreScenario.host, at: s.now)
      }
      try await s.endLease()
      try await s.store.forgetHost(StoreScenario.host, at: s.now)
      try expect(try await s.store.fleet().hosts, [], "hosts")
      try await expectRefusal(.notFound) { try await s.store.forgetHost(StoreScenario.host, at: s.now) }
      try await expectRefusal(.notFound) { try await s.store.setDraining(StoreScenario.host, true, at: s.now) }
      try await s.connect()
      let host = try require(try await s.store.fleet().hosts.first, "the host that came back")
      try expect(host.isDraining, false, "its drain")
      try expect(host.evictions, [], "its evictions")
      try expect(host.word, nil, "its last report")
    },
    Case("forgetting a host loses no request, and launches that have ended still name it") { s in
      let (definition, launch) = try await s.running()
      try await s.endLease()
      try await s.store.forgetHost(StoreScenario.host, at: s.now)
      try expect(try await s.store.launches(of: launch.request).map(\.host), [StoreScenario.host], "its launches")
      try expect(try await s.state(launch.request), .ready, "the state of the request")
      try await s.connect()
      _ = try await s.start(definition)
    },
    Case("hosts that have been gone for long are forgotten by the steady clock, and no others") { s in
      let limits = RetentionLimits(hostsFor: .seconds(100))
      try await s.connect()
      try await s.connect(HostName("beta"), Incarnation("beta-1"))
      try await s.endLease()
      s.stepWallClock(by: .seconds(9 * 365 * 86_400))
      s.advance(.seconds(100))
      try expect(try await s.store.forgetOld(limits, at: s.now).hosts, [], "what is forgotten before its time")
      s.advance(.seconds(1))
      try expect(try await s.store.forgetOld(limits, at: s.now).hosts, [StoreScenario.host], "what is forgotten")
      try expect(try await s.store.fleet().hosts.map(\.name), [HostName("beta")], "what is left")
    },
    Case("a host that came back in time is not forgotten") { s in
      try await s.connect()
      try await s.endLease()
      s.advance(.seconds(99))
      try await s.connect(StoreScenario.host, Incarnation("alpha-2"))
      s.advance(.seconds(99))
      let limits = RetentionLimits(hostsFor: .seconds(100))
      try expect(try await s.store.forgetOld(limits, at: s.now), Forgotten(), "what is forgotten")
    },
    Case("each change of a condition is kept with its source, and what did not change is not") { s in
      var word = StoreScenario.word("1.0", slots: 2)
      word.conditions.power = Reading(.external, source: "sysfs", raw: "AC online=1")
      try await s.connect(report: word)
      let began = s.now.date
      s.advance(.seconds(5))
      word.conditions.power = Reading(.battery, source: "sysfs", raw: "AC online=0", age: .seconds(1))
      try await s.store.noteReports([s.lease(): word], at: s.now)
      s.advance(.seconds(5))
      word.conditions.power.age = .seconds(6)
      try await s.store.noteReports([s.lease(): word], at: s.now)
      let changes = try await s.store.history(of: StoreScenario.host, since: began, limit: 99).conditions
      let power = changes.filter { $0.condition == "power" }
      try expect(power.map(\.value), ["battery", "external"], "its power")
      try expect(power.first?.raw, "AC online=0", "what was read")
      try expect(power.first?.at, began + .seconds(5), "when it changed")
      try expect(changes.last { $0.condition == "lease" }?.value, "held", "its lease")
      let later = try await s.store.history(of: StoreScenario.host, since: began + .seconds(6), limit: 99)
      try expect(later.conditions, [], "what changed later")
      try await s.endLease()
      let end = try await s.store.history(of: StoreScenario.host, since: began, limit: 1).conditions
      try expect(end.map(\.condition), ["lease"], "the newest change")
      try await expectRefusal(.notFound) { _ = try await s.store.history(of: HostName("x"), since: began, limit: 9) }
    },
    Case("the history of a host is bounded in number and in time") { s in
      var word = StoreScenario.word("1.0", slots: 2)
      try await s.connect(report: word)
      let began = s.now.date
      for index in 0..<(ConditionChange.most + 10) {
        s.advance(.seconds(1))
        word.conditions.network = Reading(index % 2 == 0 ? .metered : .unmetered, source: "test")
        try await s.store.noteReports([s.lease(): word], at: s.now)
      }
      func count(_ s: StoreScenario) async throws -> Int {
        let history = try await s.store.history(of: StoreScenario.host, since: began, limit: 9_999)
        return history.conditions.count
      }
      try expect(try await count(s), ConditionChange.most, "what is kept of many changes")
      let limits = RetentionLimits(conditionsFor: .seconds(100), step: 500)
      while try await s.store.forgetOld(limits, at: s.now).hasMore {}
      try expect(try await count(s), 101, "what is kept of old changes")
    },
    Case("the launches of a host are those that run and those of a second or more, the newest first") { s in
      let definition = try await s.define("com.*").id
      try await s.connect()
      for (index, length) in [0, 2, 5].enumerated() {
        try await s.submit("com.\(index)", to: definition)
        let launch = try await s.start(definition)
        s.advance(.seconds(length))
        try await s.end(launch)
        s.advance(.seconds(1))
      }
      try await s.submit("com.open", to: definition)
      _ = try await s.start(definition)
      let began = s.now.date + .seconds(-100)
      let launches = try await s.store.history(of: StoreScenario.host, since: began, limit: 9).launches
      try expect(launches.map(\.identifier.rawValue), ["com.open", "com.2", "com.1"], "launches")
      try expect(launches.map(\.outcome), [nil, .finished, .finished], "outcomes")
      try expect(
        try await s.store.history(of: StoreScenario.host, since: began, limit: 2).launches.count, 2, "a limit")
    },
    Case("each text that is applied is a version, and the last ones are kept") { s in
      let pattern = try StoreScenario.pattern("job")
      try expect(try await s.store.versions(of: pattern).count, 0, "before the first one")
      var ids: [DefinitionID] = []
      for index in 0..<(DefinitionVersion.most + 2) {
        s.advance(.seconds(1))
        ids.append(try await s.define { $0.title = "version \(index)" }.id)
      }
      try await s.define { $0.title = "version \(DefinitionVersion.most + 1)" }
      let versions = try await s.store.versions(of: pattern)
      try expect(versions.map(\.number), Array((3...22).reversed()), "their numbers")
      try expect(versions.first?.definition.title, "version 21", "the newest one")
      try expect(versions.first?.appliedAt, s.now.date, "when it was applied")
      try expect(try await s.store.version(of: ids[4]), VersionNumber(number: 5, newest: 22), "an earlier one")
      try expect(try await s.store.version(of: ids[0]), nil, "one that is not kept")
      try await s.define { $0.title = "version 4" }
      try expect(try await s.store.version(of: ids[4]), VersionNumber(number: 23, newest: 23), "one applied again")
    },
    Case("an ended request is kept as long as its definition says, which may be shorter or longer") { s in
      let short = try await s.define("short.*") { $0.retention = .seconds(60) }.id
      let long = try await s.define("long.*") { $0.retention = .seconds(1000) }.id
      let usual = try await s.define("usual.*").id
      try await s.connect()
      for (name, definition) in [("short.a", short), ("long.a", long), ("usual.a", usual)] {
        try await s.submit(name, to: definition)
        try await s.end(try await s.start(definition))
      }
      func left(_ s: StoreScenario) async throws -> [String] {
        try await s.store.requests(RequestFilter(states: [.succeeded]), after: nil, limit: 9)
          .map(\.identifier.rawValue).sorted()
      }
      let limits = RetentionLimits(endedFor: .seconds(300))
      s.advance(.seconds(61))
      while try await s.store.prune(limits, at: s.now) {}
      try expect(try await left(s), ["long.a", "usual.a"], "what is left after a minute")
      s.advance(.seconds(300))
      while try await s.store.prune(limits, at: s.now) {}
      try expect(try await left(s), ["long.a"], "what is left after six minutes")
      // What is applied now counts, also for a request that ended before.
      try await s.define("long.*") { $0.retention = .seconds(60) }
      while try await s.store.prune(limits, at: s.now) {}
      try expect(try await left(s), [], "what is left in the end")
    },
    Case("an operator deletes the ended requests of a selection, the oldest first, and no others") { s in
      let definition = try await s.define("com.*") { $0.retry.limit = 0 }.id
      let other = try await s.define("other").id
      try await s.connect()
      for (name, outcome) in [("com.a", LaunchOutcome.finished), ("com.b", .failed("broken")), ("com.c", .finished)] {
        try await s.submit(name, to: definition)
        try await s.end(try await s.start(definition), outcome)
        s.advance(.seconds(10))
      }
      try await s.submit("other", to: other)
      try await s.end(try await s.start(other))
      try await s.submit("com.waiting", to: definition)
      func prune(
        _ s: StoreScenario, _ selection: PruneSelection, isRehearsal: Bool = false
      ) async throws -> [RequestState: Int] {
        let answer = try await s.store.prune(selection, isRehearsal: isRehearsal, at: s.now)
        return answer.counts
      }
      let pattern = try StoreScenario.pattern("com.*")
      try expect(
        try await prune(s, PruneSelection(pattern: pattern), isRehearsal: true), [.succeeded: 2, .failed: 1],
        "a rehearsal")
      try expect(try await prune(s, PruneSelection(states: [.failed])), [.failed: 1], "failed ones")
      try expect(
        try await prune(s, PruneSelection(pattern: pattern, endedFor: .seconds(20))), [.succeeded: 1], "old ones")
      try expect(try await prune(s, PruneSelection(pattern: pattern)), [.succeeded: 1], "the rest")
      try expect(try await s.count(.succeeded, of: "com.*"), 0, "what is counted")
      let left = try await s.store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue)
      try expect(left, ["other", "com.waiting"], "what is left")
    },
    Case("the queue tells of each class how many are ready and which start next") { s in
      let definition = try await s.define("com.*").id
      for index in 0..<7 { try await s.submit("com.\(index)", to: definition) }
      let background = RequirementClass(definition: definition, priority: .background)
      let queue = try await s.store.queue(of: [
        background, RequirementClass(definition: definition, priority: .utility),
      ])
      try expect(queue.map(\.requirementClass), [background], "classes")
      try expect(queue.first?.ready, 7, "how many are ready")
      try expect(queue.first?.next.map(\.identifier.rawValue), (0..<5).map { "com.\($0)" }, "which start next")
    },
  ]
}
