import BatonHandler
import BatonModel
import BatonStore
import BatonWorker
import ContractRows
import Foundation
import Synchronization
import Testing

@testable import BatonCoordinator

/// The contract, tested on a whole coordinator and its workers. Their clocks stand still until a test moves them.
@Suite(.timeLimit(.minutes(10))) struct ContractTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  static let name = JobIdentifier("com.example.a")!

  static func job(_ kind: JobKind, _ change: (inout Definition) -> Void = { _ in }) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name), kind: kind)
    if kind == .continued { definition.title = "Job" }
    change(&definition)
    return definition
  }

  private func poke(_ fleet: Fleet, _ number: Int, _ priority: PokePriority = .considerate) async throws {
    let order = SubmissionOrder(
      id: "poke-\(number)", identifier: Self.name, payload: Array("\(number)".utf8), poke: priority)
    for _ in 0..<2 {  // Each poke is sent twice, as by a client that got no answer.
      guard case .accepted? = try await fleet.coordinator.submit([order], by: "ada").first else {
        throw Surprise("poke \(number) was refused")
      }
    }
  }

  @Test("Fourteen pokes in one window start two launches, the last payload wins, also over a restart", .contract(41.7))
  func pokes() async throws {
    let time = ManualTime()
    let payloads = Mutex<[String]>([])
    let store = try SQLiteStore.inMemory()
    let handler: Handler = { task in
      payloads.withLock { $0.append(String(decoding: task.payload ?? [], as: UTF8.self)) }
    }
    func fleet() -> Fleet { Fleet(store, time) }
    let first = fleet()
    try await first.run([first.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await first.coordinator.apply([Self.job(.processing)])
      for number in 1...7 {
        try await poke(first, number)
        if number == 1 { _ = try await first.ended(Self.name.rawValue) }
        await time.pass(.seconds(10))
      }
    }
    let second = fleet()
    try await second.run([second.worker("two", folder: folder, [(Self.name.rawValue, handler)])]) {
      for number in 8...14 {
        await time.pass(.seconds(10))
        try await poke(second, number)
      }
      #expect(payloads.withLock { $0 } == ["1"])
      await time.jump(.seconds(15 * 60))
      let details = try await second.ended(Self.name.rawValue)
      #expect(details.record.number == 2)
      #expect(details.pokes.map(\.id) == (2...14).map { "poke-\($0)" })
      await time.jump(.seconds(86_400))
      let one = try await second.coordinator.details(Self.name, number: 1)
      #expect(one.pokes.map(\.id) == ["poke-1"] && one.pokes.first?.principal == "ada")
    }
    #expect(payloads.withLock { $0 } == ["1", "14"])
  }

  @Test("A poke of priority 10 goes at once, and says who asked for it", .contract(41.6))
  func immediate() async throws {
    let time = ManualTime()
    let count = Mutex(0)
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    let handler: Handler = { _ in count.withLock { $0 += 1 } }
    let worker = fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([Self.job(.processing)])
      try await poke(fleet, 1)
      _ = try await fleet.ended(Self.name.rawValue)
      try await poke(fleet, 2)
      try await poke(fleet, 3, .immediate)
      let details = try await fleet.reached(Self.name.rawValue) { $0.record.number == 2 && $0.record.state.isEnded }
      #expect(details.events.contains { $0.name == "pokedAtOnce" && $0.detail == "ada" }, "\(details.events)")
      #expect(details.pokes.map(\.priority) == [.considerate, .immediate])
      #expect(count.withLock { $0 } == 2)
    }
  }

  @Test("Strategy fail answers with every obstacle of every host, and leaves nothing behind", .contract(35.1, 35.3))
  func fail() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    let job = Self.job(.continued) { definition in
      definition.strategy = .fail
      definition.requirements.gpu = GPURequirement()
    }
    try await fleet.run(["one", "two"].map { fleet.worker($0, folder: folder) }) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.attached(2)
      let answers = try await fleet.coordinator.submit(
        [SubmissionOrder(id: "once", identifier: Self.name)], by: "ada")
      guard case .refused("immediateRunIneligible", let text)? = answers.first else {
        Issue.record("\(answers)")
        return
      }
      #expect(text.contains("one: ") && text.contains("two: ") && text.contains("no handler") && text.contains("GPU"))
      let left = try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 10)
      #expect(left.isEmpty)
    }
  }

  @Test(
    "With strategy fail, a submission is refused while a request of the identifier runs or waits")
  func failBehindLive() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    let job = Self.job(.continued) { $0.strategy = .fail }
    let handler: Handler = { _ in try await Task.sleep(for: .seconds(3600)) }
    let worker = fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.attached(1)
      try await fleet.submit(Self.name.rawValue)
      let second = try await fleet.coordinator.submit([SubmissionOrder(id: "b", identifier: Self.name)], by: "ada")
      guard case .refused("immediateRunIneligible", let text)? = second.first else {
        Issue.record("\(second)")
        return
      }
      #expect(text.contains("request 1 of the same identifier has to end first"), "\(text)")
      #expect(try await fleet.coordinator.requests(RequestFilter(), after: nil, limit: 9).map(\.number) == [1])
    }
  }

  @Test(
    "A launch, an expiry and conditions can be simulated, and are marked wherever they are seen", .contract(43.1, 43.2))
  func simulate() async throws {
    let time = ManualTime()
    let reasons = Mutex<[String]>([])
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    let handler: Handler = { task in
      task.update(subtitle: "here")
      do { try await Task.sleep(for: .seconds(3600)) } catch {
        reasons.withLock { $0.append("\(task.expiry.map { "\($0.reason)" } ?? "none")") }
        throw error
      }
    }
    let job = Self.job(.continued) { $0.requirements.externalPower = true }
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await fleet.coordinator.apply([job])
      try await fleet.attached(1)
      try await fleet.coordinator.simulateConditions(
        ConditionOverrides(power: .battery), on: HostName("one"), lasting: .seconds(3600))
      try await fleet.hosts { $0.first?.conditions.power == Reading(.battery, source: "simulated", raw: "") }
      try await fleet.submit(Self.name.rawValue)
      let waiting = try await fleet.coordinator.explain(Self.name, number: nil)
      #expect(waiting.lines.map(\.code) == ["needsExternalPower"] && waiting.lines[0].source == "simulated")
      let launch = try await fleet.coordinator.simulateLaunch(Self.name, number: nil, on: nil)
      #expect(launch == SimulatedLaunch(identifier: Self.name, number: 1, launch: 1, host: HostName("one")))
      _ = try await fleet.reached(Self.name.rawValue) { $0.record.subtitle == "here" }
      _ = try await fleet.coordinator.simulateExpiry(Self.name, number: nil, as: .thermal)
      let stopped = try await fleet.reached(Self.name.rawValue) { $0.record.state == .ready }
      #expect(stopped.launches.map(\.isSimulated) == [true])
      #expect(stopped.launches[0].expiringReason == .simulated(as: .thermal))
      #expect(stopped.events.map(\.name) == ["simulatedLaunch"])
      try await fleet.coordinator.simulateConditions(ConditionOverrides(), on: HostName("one"), lasting: .zero)
      let real = try await fleet.reached(Self.name.rawValue) { $0.record.state == .running }
      #expect(real.launches.map(\.isSimulated) == [true, false])
      try await fleet.coordinator.simulateConditions(
        ConditionOverrides(power: .battery), on: HostName("one"), lasting: .seconds(3600))
      let unplugged = try await fleet.reached(Self.name.rawValue) { $0.record.state == .ready }
      #expect(unplugged.launches[1].reason == "simulated (powerLost)")
      #expect(unplugged.record.ledger == Ledger())
    }
    #expect(reasons.withLock { $0.count } == 2)
  }

  @Test(
    "The wall clock may step an hour or a day, back or forth: a delay starts neither early nor late", .contract(13.1))
  func clockSteps() async throws {
    for step in [3600, -3600, 86_400, -86_400] {
      let time = ManualTime()
      let count = Mutex(0)
      let fleet = Fleet(try SQLiteStore.inMemory(), time)
      let handler: Handler = { _ in count.withLock { $0 += 1 } }
      let worker = fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])
      try await fleet.run([worker]) {
        _ = try await fleet.coordinator.apply([
          Self.job(.processing) { $0.earliestBeginDate = .afterSubmission(.seconds(60)) }
        ])
        try await fleet.attached(1)
        try await fleet.submit(Self.name.rawValue)
        time.stepWallClock(by: .seconds(step))
        await time.pass(.seconds(59))
        let waiting = try await fleet.coordinator.details(Self.name, number: nil).record
        #expect(waiting.state == .scheduled && count.withLock { $0 } == 0, "step \(step)")
        #expect(waiting.eligibleAt == time.now.date + .seconds(1), "shown on the wall clock of now")
        await time.pass(.seconds(2))
        _ = try await fleet.ended(Self.name.rawValue)
      }
      #expect(count.withLock { $0 } == 1)
    }
  }

  @Test("A date is reached when the wall clock shows it, and not before, also after a restart", .contract(13.2))
  func dates() async throws {
    let time = ManualTime()
    let count = Mutex(0)
    let store = try SQLiteStore.inMemory()
    let handler: Handler = { _ in count.withLock { $0 += 1 } }
    let first = Fleet(store, time)
    try await first.run([first.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await first.coordinator.apply([
        Self.job(.processing) { $0.earliestBeginDate = .at(ManualTime.start + .seconds(3600)) }
      ])
      try await first.submit(Self.name.rawValue)
      time.stepWallClock(by: .seconds(-86_400))
      await time.jump(.seconds(3700))
      #expect(count.withLock { $0 } == 0)
    }
    let second = Fleet(store, time)
    try await second.run([second.worker("two", folder: folder, [(Self.name.rawValue, handler)])]) {
      await time.jump(.seconds(100))
      #expect(count.withLock { $0 } == 0)
      time.stepWallClock(by: .seconds(86_400))
      await time.pass(.milliseconds(300))
      _ = try await second.ended(Self.name.rawValue)
    }
    #expect(count.withLock { $0 } == 1)
  }

  @Test("A refresh that repeatedly finds nothing is launched less often", .contract(42.2))
  func noData() async throws {
    let time = ManualTime()
    let count = Mutex(0)
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    let worker = fleet.worker("one", folder: folder)
    worker.registerRefresh(Self.name.rawValue) { _ in
      count.withLock { $0 += 1 }
      return .noData
    }
    try await fleet.run([worker]) {
      _ = try await fleet.coordinator.apply([Self.job(.refresh)])
      for number in 1...4 {
        try await fleet.submit(Self.name.rawValue)
        let wait = [0, 900, 1800, 3600][number - 1]
        if wait > 0 {
          await time.jump(.seconds(wait - 1))
          #expect(count.withLock { $0 } == number - 1, "the wait before launch \(number)")
          await time.jump(.seconds(1))
        }
        _ = try await fleet.reached(Self.name.rawValue) { $0.record.number == number && $0.record.state.isEnded }
      }
    }
  }

  @Test(
    "A launch without progress is suspected, then expires stalled; after three the request is quarantined",
    .contract(29.4))
  func stalls() async throws {
    let time = ManualTime()
    let fleet = Fleet(try SQLiteStore.inMemory(), time)
    let handler: Handler = { task in
      task.update(subtitle: "launch \(task.launch)")
      try await Task.sleep(for: .seconds(3600))
    }
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      var job = Self.job(.continued)
      job.stallAfter = .seconds(5)
      _ = try await fleet.coordinator.apply([job])
      try await fleet.submit(Self.name.rawValue)
      for launch in 1...3 {
        _ = try await fleet.reached(Self.name.rawValue) { $0.record.subtitle == "launch \(launch)" }
        // A jump would count as a stop of the coordinator, which is no time in which a launch could show progress. On a
        // busy machine even these steps can be one, so time passes until it is enough.
        try await pass(time, in: fleet) { $0.events.filter { $0.name == "suspect" }.count == launch }
        try await pass(time, in: fleet) { $0.launches[launch - 1].outcome != nil }
      }
      let details = try await fleet.ended(Self.name.rawValue)
      #expect(details.launches.map(\.reason) == ["stalled", "stalled", "stalled"])
      #expect(details.record.state == .failed && details.record.reason?.contains("quarantined") == true)
    }
  }

  /// Lets time pass until the job is as it is expected to be.
  private func pass(_ time: ManualTime, in fleet: Fleet, until condition: (RequestDetails) -> Bool) async throws {
    while try await !condition(fleet.coordinator.details(Self.name, number: nil)) { await time.pass(.seconds(0.5)) }
  }

  @Test("An eviction moves the launch to another host, and lasts over a restart", .contract(25.3))
  func evictions() async throws {
    let time = ManualTime()
    let store = try SQLiteStore.inMemory()
    let handler: Handler = { task in
      task.update(subtitle: "here")
      try await Task.sleep(for: .seconds(3600))
    }
    let first = Fleet(store, time)
    try await first.run(["one", "two"].map { first.worker($0, folder: folder, [(Self.name.rawValue, handler)]) }) {
      _ = try await first.coordinator.apply([Self.job(.continued)])
      try await first.attached(2)
      try await first.submit(Self.name.rawValue)
      let running = try await first.reached(Self.name.rawValue) { $0.record.subtitle == "here" }
      let host = try #require(running.record.host)
      #expect(try await first.coordinator.setEvicted(IdentifierPattern(Self.name), from: [], true) == [host])
      let moved = try await first.reached(Self.name.rawValue) { $0.launches.count == 2 }
      #expect(moved.launches[0].reason == "evicted" && moved.launches[1].host != host)
    }
    let second = Fleet(store, time, leaseTerm: .seconds(15))
    try await second.run([]) {
      await time.pass(.seconds(16))
      var lines = try await second.coordinator.explain(Self.name, number: nil).lines
      // The leases have run out, and their ends are stored a moment later.
      while lines.filter({ $0.code == "hostGone" }).count < 2 {
        await time.pass(.seconds(0.5))
        lines = try await second.coordinator.explain(Self.name, number: nil).lines
      }
      #expect(lines.filter { $0.code == "evicted" }.count == 1)
      #expect(lines.filter { $0.code == "hostGone" }.count == 2, "gone hosts are explained too: \(lines)")
      #expect(try await second.coordinator.setEvicted(IdentifierPattern(Self.name), from: [], false).count == 1)
    }
  }

  @Test("explain uses the last report of a host that is gone, also after a restart of the coordinator", .contract(3.2))
  func lastWord() async throws {
    let time = ManualTime()
    let store = try SQLiteStore.inMemory()
    let first = Fleet(store, time)
    try await first.run([first.worker("one", folder: folder)]) { try await first.attached(1) }
    let second = Fleet(store, time, leaseTerm: .seconds(15))
    try await second.run([]) {
      await time.pass(.seconds(16))
      _ = try await second.coordinator.apply([Self.job(.processing)])
      try await second.submit(Self.name.rawValue)
      var explanation = try await second.coordinator.explain(Self.name, number: nil)
      // The lease has run out, and its end is stored a moment later.
      while explanation.lines.contains(where: { $0.code == "hostAway" }) {
        await time.pass(.seconds(0.5))
        explanation = try await second.coordinator.explain(Self.name, number: nil)
      }
      #expect(explanation.verdict == .impossible)
      #expect(explanation.lines.map(\.code) == ["hostGone", "noHandler"])
      #expect(explanation.lines.allSatisfy { $0.reportedAt == ManualTime.start })
      #expect(explanation.advice.contains("start its worker again") && explanation.advice.contains("handler"))
    }
  }

  @Test("A coordinator that shuts down refuses submissions as unavailable", .contract(5.3))
  func shutdown() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([]) {
      _ = try await fleet.coordinator.apply([Self.job(.processing)])
      fleet.coordinator.stopAccepting()
      let answers = try await fleet.coordinator.submit([SubmissionOrder(id: "late", identifier: Self.name)], by: "ada")
      guard case .refused("unavailable", let text)? = answers.first else {
        Issue.record("\(answers)")
        return
      }
      #expect(text.contains("submit again"))
    }
  }

  @Test("Without a GPU in the fleet 'fail' is refused at once, and 'queue' waits", .contract(20.3, 20.4))
  func noGPU() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    @Sendable func job(_ name: String, _ strategy: Strategy) -> Definition {
      var definition = Definition(pattern: IdentifierPattern(name)!, kind: .continued)
      definition.title = "Job"
      definition.strategy = strategy
      definition.work = Work(command: ["true"])
      definition.requirements.gpu = GPURequirement()
      return definition
    }
    try await fleet.run([fleet.worker("one", folder: folder)]) {
      _ = try await fleet.coordinator.apply([job("com.example.now", .fail), job("com.example.later", .queue)])
      try await fleet.attached(1)
      let orders = ["now", "later"].map { SubmissionOrder(id: $0, identifier: JobIdentifier("com.example.\($0)")!) }
      let answers = try await fleet.coordinator.submit(orders, by: "ada")
      guard answers.count == 2, case .refused("immediateRunIneligible", let text) = answers[0],
        case .accepted = answers[1]
      else {
        Issue.record("\(answers)")
        return
      }
      #expect(text.contains("GPU"))
      let waiting = try await fleet.coordinator.explain(JobIdentifier("com.example.later")!, number: nil)
      #expect(waiting.lines.map(\.code).contains("noHostHasGPU"))
    }
  }

  @Test("What is defined and no longer permitted is refused as not permitted", .contract(1.1, 1.3))
  func notPermitted() async throws {
    let store = try SQLiteStore.inMemory()
    let open = Fleet(store, ManualTime())
    try await open.run([]) { _ = try await open.coordinator.apply([Self.job(.processing)]) }
    let closed = Fleet(store, ManualTime(), permitted: [IdentifierPattern("org.*")!])
    try await closed.run([]) {
      let answers = try await closed.coordinator.submit([SubmissionOrder(id: "x", identifier: Self.name)], by: "ada")
      guard case .refused("notPermitted", _)? = answers.first else {
        Issue.record("\(answers)")
        return
      }
    }
  }

  @Test(
    "While the fleet is paused, submissions are refused as unavailable, and a repeated id gets its first answer",
    .contract(5.4))
  func paused() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([]) {
      _ = try await fleet.coordinator.apply([Self.job(.processing)])
      let order = SubmissionOrder(id: "first", identifier: Self.name)
      guard case .accepted? = try await fleet.coordinator.submit([order], by: "ada").first else {
        throw Surprise("refused before the pause")
      }
      try await fleet.coordinator.setPaused(true)
      let again = try await fleet.coordinator.submit(
        [order, SubmissionOrder(id: "b", identifier: Self.name)], by: "ada")
      guard case .accepted(let receipt, _, _) = again[0], case .refused("unavailable", let text) = again[1] else {
        Issue.record("\(again)")
        return
      }
      #expect(receipt.number == 1 && text.contains("baton resume"))
      try await fleet.coordinator.setPaused(false)
      guard
        case .accepted? = try await fleet.coordinator.submit(
          [SubmissionOrder(id: "b", identifier: Self.name)], by: "ada"
        )
        .first
      else { throw Surprise("refused after the pause") }
    }
  }
}
