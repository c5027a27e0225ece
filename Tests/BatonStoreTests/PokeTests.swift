import BatonModel
import Testing

@testable import BatonStore

@Suite struct PokeTests {
  /// The case of the conformance suite, with a coordinator that dies after every poke.
  @Test func pokesAreCoalescedAcrossRestarts() async throws {
    try await TemporaryFolder.with { folder in
      var store = try SQLiteStore.open(folder: folder)
      let definition = try await store.prepare()
      var (now, launches) = (someTime, [LaunchKey]())
      for index in 0..<14 {
        try await store.poke("poke-\(index)", to: definition, at: now)
        try await store.close()
        store = try SQLiteStore.open(folder: folder)
        launches += try await store.runWhatIsReady(of: definition, at: now)
        now = now + .seconds(60)
      }
      #expect(launches.count == 1)
      launches += try await store.runWhatIsReady(of: definition, at: someTime + .seconds(899))
      #expect(launches.count == 1)
      launches += try await store.runWhatIsReady(of: definition, at: someTime + .seconds(900))
      #expect(launches.count == 2)
      var pokes: [PokeRecord] = []
      for launch in launches { pokes += try await store.pokes(of: launch.request) }
      #expect(pokes.map(\.id) == (0..<14).map { "poke-\($0)" })
      #expect(try await store.fleet().nextDue == NextDue())
      try await store.close()
    }
  }

  @Test func aPokeIsKeptAsLongAsItsId() async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    try await store.poke("old", to: definition, at: someTime)
    try await store.poke("new", to: definition, at: someTime + .seconds(100))
    _ = try await store.prune(RetentionLimits(submissionsFor: .seconds(60)), at: someTime + .seconds(120))
    #expect(try await store.pokes(of: RequestID(1)).map(\.id) == ["new"])
  }
}

extension SQLiteStore {
  fileprivate func poke(_ id: String, to definition: DefinitionID, at now: Moment) async throws {
    var submission = Submission(id: id, identifier: JobIdentifier(trusted: "com.poked"), trace: someTrace)
    submission.poke = .considerate
    _ = try await submit([SubmissionOffer(submission: submission, definition: definition)], at: now)
  }

  fileprivate func runWhatIsReady(of definition: DefinitionID, at now: Moment) async throws -> [LaunchKey] {
    _ = try await promote(at: now, limit: 100)
    var lease = someLease
    lease.number = try await fleet().hosts[0].leaseNumber
    let claim = Claim(
      requirementClass: RequirementClass(definition: definition, priority: .background), lease: lease,
      places: [Claim.Place(gpus: [], spanID: someSpan)])
    let launches = try await self.claim([claim], at: now)[0].assignments.map(\.launch)
    _ = try await end(launches.map { Ending(launch: $0, outcome: .finished) }, from: someWorker, at: now)
    return launches
  }
}
