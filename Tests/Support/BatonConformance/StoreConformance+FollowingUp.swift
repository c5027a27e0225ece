import BatonModel
import BatonStore
import Foundation

/// What the end of a request submits: `onSuccess` and `onFailure`.
extension StoreConformance {
  static let followingUp: [Case] = [
    Case("a failure submits the job that the definition names, with its facts, in the same trace") { s in
      let repair = try await s.define("repair").id
      let (_, launch) = try await s.running { definition in
        definition.retry.limit = 0
        (definition.onFailure, definition.onSuccess) = (FollowUp("repair"), FollowUp("report"))
      }
      let ended = try await s.record(launch.request)
      s.advance(.seconds(5))
      let answer = try await s.end(launch, .failed("no disk"), kind: .exit(3))
      let followed = try require(answer.followed.first, "what the end has submitted")
      try expect(followed.requirementClass, RequirementClass(definition: repair, priority: .background), "its class")
      let record = try await s.record(followed.request)
      try expect(record.identifier.rawValue, "repair", "its identifier")
      try expect(record.state, .ready, "its state")
      try expect(record.principal, ended.principal, "who submitted it")
      try expect(record.trace.traceID, ended.trace.traceID, "its trace")
      try expect(record.trace.spanID != ended.trace.spanID, "it has the span of the request that ended")
      let assignment = try require(try await s.claim(repair).assignments.first, "its launch")
      let job = try JSONDecoder().decode(EndedJob.self, from: Data(try require(assignment.payload, "its payload")))
      try expect(
        job,
        EndedJob(
          identifier: ended.identifier, request: 1, state: .failed, reason: "no disk", failure: "exit 3", launches: 1,
          endedAt: job.endedAt, trace: "\(ended.trace.traceID)"), "the facts")
      try expect(
        try await s.store.events(of: launch.request).map { "\($0.name) \($0.detail ?? "")" },
        ["followed repair (request 1)"], "the event")
    },
    Case("a success submits the other one, and an end by a person submits nothing") { s in
      let report = try await s.define("report").id
      let (definition, launch) = try await s.running { definition in
        (definition.onFailure, definition.onSuccess) = (FollowUp("repair"), FollowUp("report"))
      }
      let answer = try await s.end(launch)
      try expect(answer.followed.first?.requirementClass.definition, report, "what the success has submitted")
      try await s.submit("job", to: definition)
      let second = try await s.start(definition)
      try expect(
        try await s.end(second, .expired(.cancelled(by: "ann"))).followed.isEmpty, "a cancelled one submits one")
      try await s.submit("job", to: definition)
      let third = try await s.start(definition)
      try expect(try await s.end(third, .expired(.draining)).followed.isEmpty, "an expiry submits one")
    },
    Case("several jobs that follow are one flow, in the order of its members") { s in
      let report = try await s.define("report") { $0.after = JobReference("work").map { [Dependency($0)] } }.id
      let work = try await s.define("work").id
      let (_, launch) = try await s.running { $0.onSuccess = FollowUp("report", "work") }
      let ended = try await s.record(launch.request)
      let answer = try await s.end(launch)
      try expect(answer.followed.map(\.requirementClass.definition), [work, report], "what was submitted")
      var records: [RequestRecord] = []
      for followed in answer.followed { records.append(try await s.record(followed.request)) }
      try expect(records.map(\.state), [.ready, .scheduled], "their states")
      try expect(records[1].waitsBecause, .waitsForOthers(["work (request 1)"]), "what the second waits for")
      let members = try await s.store.members(of: answer.followed[0].request)
      try expect(members.map(\.id), answer.followed.map(\.request), "the members of the flow")
      try expect(Set(records.map(\.trace.traceID)), [ended.trace.traceID], "their trace")
      try expect(Set(records.map(\.trace.spanID) + [ended.trace.spanID]).count, 3, "how many spans there are")
      try expect(
        try await s.store.events(of: launch.request).map { "\($0.name) \($0.detail ?? "")" },
        ["followed work (request 1)", "followed report (request 1)"], "the events")
      let first = try await s.start(work)
      let next = try await s.end(first)
      try expect(next.flow.released.map(\.request), [records[1].id], "what the first releases")
      for record in records {
        let payload = try require(try await s.record(record.id).payload, "the payload of \(record.identifier)")
        let job = try JSONDecoder().decode(EndedJob.self, from: Data(payload))
        try expect(job.identifier, ended.identifier, "the job of which \(record.identifier) is told")
      }
    },
    Case("of several jobs that follow all are submitted, or none") { s in
      let (definition, launch) = try await s.running { $0.onSuccess = FollowUp("work", "report") }
      _ = try await s.define("work")
      func nothing(_ answer: EndingAnswer, because detail: String) async throws {
        try expect(answer.followed.isEmpty, "something was submitted where \(detail)")
        let event = try require(try await s.store.events(of: answer.request).first, "an event")
        try expect("\(event.name) \(event.detail ?? "")", "notFollowed \(detail)", "the event")
        try expect(try await s.count(.ready, of: "work"), 0, "how many members were submitted")
      }
      try await nothing(try await s.end(launch), because: "report: no definition is applied for it")
      _ = try await s.define("report") { $0.repeatEvery = .seconds(60) }
      try await s.submit("job", to: definition)
      try await nothing(
        try await s.end(try await s.start(definition)),
        because: "report has a 'repeat', so it comes by itself, and cannot be in a flow; leave it out")
      _ = try await s.define("report") { $0.after = JobReference("fetch").map { [Dependency($0)] } }
      try await s.submit("job", to: definition)
      try await nothing(
        try await s.end(try await s.start(definition)),
        because: "report comes after fetch, which is not in the flow; add fetch to the flow, or remove it from 'after'")
    },
    Case("the part that a wildcard matches comes along") { s in
      _ = try await s.define("repair.*")
      let definition = try await s.define("export.*") { definition in
        definition.retry.limit = 0
        definition.onFailure = FollowUp("repair.${wildcard}")
      }.id
      try await s.connect()
      try await s.submit("export.a.7", to: definition)
      let answer = try await s.end(try await s.start(definition), .failed("no"))
      let record = try await s.record(try require(answer.followed.first, "what the end has submitted").request)
      try expect(record.identifier.rawValue, "repair.a.7", "its identifier")
    },
    Case("where nothing can be submitted the history says why") { s in
      let (definition, launch) = try await s.running { definition in
        definition.retry.limit = 0
        definition.onFailure = FollowUp("repair")
      }
      try expect(try await s.end(launch, .failed("no")).followed.isEmpty, "without a definition")
      let events = try await s.store.events(of: launch.request)
      try expect(events.map(\.name), ["notFollowed"], "the event")
      try expect(events.first?.detail, "repair: no definition is applied for it", "its reason")
      _ = try await s.define("repair") { $0.pendingLimit = 1 }
      try await s.submit("job", to: definition)
      try expect(try await s.end(try await s.start(definition), .failed("no")).followed.isEmpty == false, "with one")
      try await s.submit("job", to: definition)
      let third = try await s.end(try await s.start(definition), .failed("again"))
      let waiting = try require(third.followed.first, "the third").request
      try expect(
        try await s.store.events(of: waiting).map(\.name), ["replaced"], "the newer facts take the place of the older")
    },
    Case("a circle of jobs ends") { s in
      let (first, launch) = try await s.running("one") { $0.onSuccess = FollowUp("two") }
      let second = try await s.define("two") { $0.onSuccess = FollowUp("one") }.id
      var (answer, count) = (try await s.end(launch), 0)
      while let followed = answer.followed.first {
        count += 1
        try expect(count <= JobReference.longestRow, "more than \(JobReference.longestRow) requests follow each other")
        answer = try await s.end(try await s.start(followed.requirementClass.definition == first ? first : second))
      }
      try expect(count, JobReference.longestRow, "how many follow each other")
      try expect(try await s.store.events(of: answer.request).map(\.name), ["notFollowed"], "the last one's event")
    },
    Case("a request with shards submits one job, with its last shard") { s in
      _ = try await s.define("report")
      let (definition, launch) = try await s.spreading(4, lanes: 2) { definition in
        definition.spread?.shardSize = 2
        definition.onSuccess = FollowUp("report")
      }
      let other = try require(try await s.claim(definition).assignments.first, "the other shard").launch
      for shard in [other, launch] {
        for unit in 0..<2 { try await s.commit(shard, unit) { $0.completedUnits = Int64(unit + 1) } }
      }
      try expect(try await s.end(other).followed.isEmpty, "after the first shard")
      let answer = try await s.end(launch)
      try expect(answer.state, .succeeded, "the request")
      try expect(answer.followed.isEmpty == false, "nothing was submitted")
    },
  ]
}
