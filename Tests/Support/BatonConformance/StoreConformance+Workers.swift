import BatonModel
import BatonStore

extension StoreConformance {
  /// A worker can change and read only its own launches. For each verb that a worker can reach, another process that
  /// names the launch gets the answer for a superseded launch, and nothing is written (promise P3).
  static let workers: [Case] = [
    Case("a checkpoint of another worker's launch is superseded, and nothing of it is written") { s in
      let (_, launch) = try await s.running()
      let before = try await s.record(launch.request)
      for process in try await s.impostors() {
        let answer = try await s.commit(launch, 0, from: process) {
          ($0.cursor, $0.subtitle, $0.reachesEnd) = ([9], "forged", true)
        }
        try expect(answer, .superseded, "the answer to \(process)")
        try expect(try await s.record(launch.request), before, "the request after \(process)")
      }
      try expect(try await s.commit(launch, 0), .committed(batch: 0), "the launch's own worker")
    },
    Case("an ending of another worker's launch changes nothing, whatever it says") { s in
      let (_, launch) = try await s.running()
      let before = try await s.record(launch.request)
      for process in try await s.impostors() {
        for outcome in [.finished, .failed("forged"), .lost, .expired(.stalled)] as [LaunchOutcome] {
          let answer = try await s.end(launch, outcome, from: process)
          try expect([answer.wasLive], [false], "\(outcome) of \(process)")
          try expect(answer.state, .running, "the request's state after \(outcome) of \(process)")
        }
        try expect(try await s.record(launch.request), before, "the request after \(process)")
        try expect(try await s.store.launches(of: launch.request).map(\.outcome), [nil], "the launch")
      }
      try expect(try await s.end(launch).state, .succeeded, "the launch's own worker")
    },
    Case("items of another worker's launch are neither taken nor given") { s in
      let (_, launch) = try await s.running()
      let page = ItemPage(launch: launch, start: 0, items: ["forged"], isLast: true)
      let impostors = try await s.impostors()
      for process in impostors {
        try expect(try await s.append(page, from: process), .superseded, "a page of \(process)")
        try expect(try await s.record(launch.request).frozenItems, nil, "what is frozen after \(process)")
      }
      let own = ItemPage(launch: launch, start: 0, items: ["secret"], isLast: true)
      try expect(try await s.append(own), .committed(count: 1, isFrozen: true), "the launch's own worker")
      for process in impostors {
        try expect(try await s.append(page, from: process), .superseded, "a page of \(process) after freezing")
        let answer = try await s.store.items(of: launch, for: process, start: 0, count: 9)
        try expect(answer, nil, "items for \(process)")
      }
      let unborn = LaunchKey(request: launch.request, number: 99)
      for (key, wanted) in [(launch, ["secret"]), (unborn, nil)] as [(LaunchKey, [String]?)] {
        let answer = try await s.store.items(of: key, for: StoreScenario.worker, start: 0, count: 9)
        try expect(answer, wanted, "items of \(key) for its own worker")
      }
      try await s.end(launch)
      let late = try await s.store.items(of: launch, for: StoreScenario.worker, start: 0, count: 9)
      try expect(late, nil, "items of a launch that has ended")
    },
    Case("output of another worker's launch, or of an ended one, is dropped") { s in
      let (_, launch) = try await s.running()
      let forged = [OutputChunk(launch: launch, bytes: [9])]
      for process in try await s.impostors() {
        try await s.append(forged, from: process)
        try expect(try await s.store.output(of: launch), [], "the output after \(process)")
      }
      try await s.append([OutputChunk(launch: launch, bytes: [1])])
      try await s.end(launch)
      try await s.append(forged)
      try expect(try await s.store.output(of: launch), [1], "the output in the end")
    },
    Case("another worker's word that a launch expires is not noted; the coordinator's own is") { s in
      let (_, launch) = try await s.running()
      for process in try await s.impostors() {
        let isNoted = try await s.store.noteExpiry(launch, .thermal, from: process, at: s.now)
        try expect(isNoted, nil, "the answer to \(process)")
        try expect(try await s.store.fleet().running.map(\.expiring), [nil], "the reason after \(process)")
      }
      let own = try await s.store.noteExpiry(launch, .thermal, from: StoreScenario.worker, at: s.now)
      try expect(own != nil, true, "the launch's own worker")
      let coordinators = try await s.store.noteExpiry(launch, .paused, at: s.now)
      try expect(coordinators != nil, true, "the coordinator")
      try expect(try await s.store.fleet().running.map(\.expiring), [.thermal], "the reason in the end")
    },
    Case("a host's name keeps its first secret: a worker with another secret, or without one, gets no lease") { s in
      let (mine, other) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
      let host = StoreScenario.host
      try expect(try await s.store.standing(of: host, secret: mine), .unclaimed, "before the host was there")
      try await s.connect()
      try expect(try await s.store.standing(of: host, secret: mine), .unclaimed, "after a worker without a secret")
      let (store, now) = (s.store, s.now)
      func grant(_ secret: [UInt8]?) async throws {
        try await store.grantLease(host, StoreScenario.process, link: 1, secret: secret, report: nil, at: now)
      }
      try await grant(mine)
      try expect(try await store.standing(of: host, secret: mine), .matches, "its own")
      try expect(try await store.standing(of: host, secret: other), .differs, "another one")
      try expect(try await store.standing(of: host, secret: nil), .missing, "none")
      try expect(try await store.standing(of: HostName("beta"), secret: mine), .unclaimed, "of another host")
      for secret in [other, nil] {
        try await expectRefusal(.refused, saying: ["alpha", "secret"]) { try await grant(secret) }
      }
      try await grant(mine)
      try await store.forgetSecret(of: host)
      try expect(try await store.standing(of: host, secret: nil), .unclaimed, "after it was forgotten")
      try await grant(other)
      try expect(
        try await store.standing(of: host, secret: mine), .differs, "the first one, after the name was released")
      try await expectRefusal(.notFound, saying: ["nobody"]) { try await store.forgetSecret(of: HostName("nobody")) }
    },
  ]
}

extension StoreScenario {
  /// Worker processes that must have no access to a launch of the scenario's host: another host that is connected,
  /// another process of the same host, a host that was never connected, and another host's name with the incarnation of
  /// the scenario's host.
  fileprivate mutating func impostors() async throws -> [WorkerProcess] {
    let beta = WorkerProcess(host: HostName("beta"), incarnation: Incarnation("beta-1"))
    try await connect(beta.host, beta.incarnation)
    return [
      beta, WorkerProcess(host: Self.host, incarnation: Incarnation("alpha-0")),
      WorkerProcess(host: HostName("gamma"), incarnation: Incarnation("gamma-1")),
      WorkerProcess(host: beta.host, incarnation: Self.process),
    ]
  }
}
