import BatonModel
import BatonStore

extension StoreConformance {
  static let hosts: [Case] = [
    Case("the end of a lease ends its launches as lost, and nothing else", rows: [29.2]) { s in
      let definition = try await s.define("com.*").id
      let (beta, betaProcess) = (HostName("beta"), Incarnation("beta-1"))
      try await s.connect()
      try await s.connect(beta, betaProcess)
      for name in ["com.a", "com.b", "com.c"] { try await s.submit(name, to: definition) }
      let mine = try await s.claim(definition, places: 2).assignments.map(\.launch)
      let other = try await s.start(definition, .background, on: beta, betaProcess)
      let answers = try await s.endLease()
      try expect(answers.map(\.launch), mine, "what ended")
      try expect(answers.map(\.state), [.ready, .ready], "what became of the requests")
      try expect(try await s.state(other.request), .running, "the other host's request")
      let fleet = try await s.store.fleet()
      try expect(fleet.hosts.map(\.incarnation), [nil, betaProcess], "who holds leases")
      try expect(try await s.claim(definition).assignments, [], "claimed after the lease ended")
    },
    Case("a lease that ends blamelessly brings no launch nearer to quarantine", rows: [29.5]) { s in
      let (_, launch) = try await s.running()
      let answers = try await s.endLease(countsAsLoss: false)
      try expect(answers.map(\.state), [.ready], "what became of the request")
      try expect(try await s.record(launch.request).ledger, Ledger(), "its ledger")
      try expect(try await s.store.launches(of: launch.request).map(\.outcome), [.lost], "the launch's outcome")
    },
    Case("a lease that is not the host's present one ends nothing, also if it was") { s in
      let (_, launch) = try await s.running()
      let (scenario, stale) = (s, Incarnation("alpha-0"))
      try await expectRefusal(.moved, saying: ["alpha"]) {
        try await scenario.endLease(StoreScenario.host, stale)
      }
      try expect(try await s.state(launch.request), .running, "the request")
      try await s.endLease()
      try expect(try await s.endLease(), [], "a second end")
      let ended = s.lease()
      try await s.connect(StoreScenario.host, Incarnation("alpha-2"))
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.moved) { _ = try await store.endLease(ended, countsAsLoss: true, at: now) }
      try expect(try await s.store.fleet().hosts.map(\.incarnation), [Incarnation("alpha-2")], "who holds the lease")
    },
    Case("a lease is refused while an earlier incarnation's launches are open, and granted again to its holder") { s in
      let (_, launch) = try await s.running()
      try await s.connect()
      let (store, now, next) = (s.store, s.now, Incarnation("alpha-2"))
      try await expectRefusal(.refused, saying: ["alpha", "1 launch "]) {
        try await store.grantLease(StoreScenario.host, next, report: nil, at: now)
      }
      try await s.endLease()
      try await s.connect(StoreScenario.host, next)
      try expect(try await s.store.fleet().hosts.map(\.incarnation), [next], "who holds the lease")
      try expect(try await s.commit(launch, 0), .superseded, "a checkpoint of the earlier incarnation")
    },
    Case("assignments on a host are those that run there, as they would be given now") { s in
      let definition = try await s.define().id
      try await s.connect()
      try await s.submit("job", to: definition) { $0.payload = [3] }
      let claim = Claim(
        requirementClass: RequirementClass(definition: definition, priority: .background), lease: s.lease(),
        places: [Claim.Place(gpus: [0, 3], spanID: s.drawSpan())])
      let given = try require(try await s.store.claim([claim], at: s.now)[0].assignments.first, "the assignment")
      try expect(given.gpus, [0, 3], "its GPUs")
      try expect(try await s.store.assignments(on: StoreScenario.host), [given], "at once")
      try await s.commit(given.launch, 0) { $0.cursor = [8] }
      try expect(
        try await s.store.assignments(on: StoreScenario.host).map(\.progress.cursor), [[8]], "after a checkpoint")
      try await s.end(given.launch, .expired(.draining))
      try expect(try await s.store.assignments(on: StoreScenario.host), [], "after the end")
    },
    Case("a host drains until it is told otherwise, across leases; an unknown one cannot") { s in
      try await s.connect()
      try await s.store.setDraining(StoreScenario.host, true, at: s.now)
      try await s.endLease()
      try await s.connect(StoreScenario.host, Incarnation("alpha-2"))
      try expect(try await s.store.fleet().hosts.map(\.isDraining), [true], "isDraining")
      try await s.store.setDraining(StoreScenario.host, false, at: s.now)
      try expect(try await s.store.fleet().hosts.map(\.isDraining), [false], "isDraining afterwards")
      let (store, now) = (s.store, s.now)
      try await expectRefusal(.notFound, saying: ["nobody"]) {
        try await store.setDraining(HostName("nobody"), true, at: now)
      }
    },
  ]
}
