import BatonCoordinator
import BatonHandler
import BatonModel
import BatonStore
import Foundation
import Testing

/// Questions of operators to a whole coordinator: which request they mean, what does not exist, and
/// repaired definitions.
@Suite(.timeLimit(.minutes(10))) struct OperatorTests {
  let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
  static let name = JobIdentifier("com.example.feeds")!

  private static func feeds(_ change: (inout Definition) -> Void = { _ in }) -> Definition {
    var definition = Definition(pattern: IdentifierPattern(name), kind: .processing)
    change(&definition)
    return definition
  }

  private static let nothing: Handler = { _ in }

  /// A definition that fails at its first failure, and repeats every hour.
  private static func titled(_ title: String) -> Definition {
    feeds { ($0.title, $0.retry.limit, $0.repeatEvery) = (title, 0, .seconds(3600)) }
  }

  private static func refusal(_ body: () async throws -> Void) async -> OperatorError? {
    do { try await body() } catch { return error as? OperatorError }
    return nil
  }

  @Test func `without a number, a repeating job means its last run, and the next request is named`() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, Self.nothing)])]) {
      _ = try await fleet.coordinator.apply([Self.feeds { $0.repeatEvery = .seconds(3600) }])
      while try await fleet.coordinator.details(Self.name, number: 1).record.state != .succeeded { await Task.yield() }
      for choice in RequestChoice.allCases {
        let details = try await fleet.coordinator.details(Self.name, number: nil, choosing: choice)
        #expect(details.record.number == (choice == .current ? 2 : 1), "\(choice)")
        #expect(details.waiting?.number == (choice == .current ? nil : 2), "\(choice)")
        let exact = try await fleet.coordinator.details(Self.name, number: 2, choosing: choice)
        #expect(exact.record.number == 2 && exact.waiting == nil)
      }
    }
  }

  @Test func `of a repeating job the next request is meant once it is due`() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, Self.nothing)])]) {
      _ = try await fleet.coordinator.apply([Self.feeds { $0.repeatEvery = .seconds(3600) }])
      while try await fleet.coordinator.details(Self.name, number: 1).record.state != .succeeded { await Task.yield() }
      try await fleet.coordinator.setDraining(HostName("one"), true)
      try await fleet.submit(Self.name.rawValue)
      for (choice, number) in [(RequestChoice.ran, 1), (.ranIfRepeating, 2), (.current, 2)] {
        let record = try await fleet.coordinator.details(Self.name, number: nil, choosing: choice).record
        #expect(record.number == number && (number == 1 || record.state == .ready), "\(choice)")
      }
    }
  }

  @Test func `of a job that does not repeat, only logs and traces mean the one that ran`() async throws {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, Self.nothing)])]) {
      _ = try await fleet.coordinator.apply([Self.feeds()])
      try await fleet.submit(Self.name.rawValue)
      _ = try await fleet.ended(Self.name.rawValue)
      let later = SubmissionOrder(
        id: "later", identifier: Self.name, earliestBeginDate: .afterSubmission(.seconds(3600)))
      _ = try await fleet.coordinator.submit([later], by: "ada")
      for (choice, number) in [(RequestChoice.ran, 1), (.ranIfRepeating, 2), (.current, 2)] {
        #expect(try await fleet.coordinator.details(Self.name, number: nil, choosing: choice).record.number == number)
      }
    }
  }

  @Test func `logs and traces mean the one that ran, and not a later one that was cancelled before it ran`()
    async throws
  {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, Self.nothing)])]) {
      _ = try await fleet.coordinator.apply([Self.feeds()])
      try await fleet.submit(Self.name.rawValue)
      _ = try await fleet.ended(Self.name.rawValue)
      let later = SubmissionOrder(
        id: "later", identifier: Self.name, earliestBeginDate: .afterSubmission(.seconds(3600)))
      _ = try await fleet.coordinator.submit([later], by: "ada")
      _ = try await fleet.coordinator.cancel(.identifier(Self.name), by: "ada")
      for (choice, number) in [(RequestChoice.ran, 1), (.ranIfRepeating, 2), (.current, 2)] {
        #expect(try await fleet.coordinator.details(Self.name, number: nil, choosing: choice).record.number == number)
      }
    }
  }

  @Test func `an eviction of an unknown job or host is refused, and names a similar one`()
    async throws
  {
    let fleet = try Fleet()
    let workers = ["anna", "ben"].map { fleet.worker($0, folder: folder) }
    try await fleet.run(workers) {
      try await fleet.attached(2)
      _ = try await fleet.coordinator.apply([Self.feeds()])
      let (anna, ben) = (HostName("anna"), HostName("ben"))
      let pattern = IdentifierPattern(Self.name)
      for (wrong, hosts, words) in [
        (
          IdentifierPattern("com.example.feedz")!, [anna],
          "no job 'com.example.feedz', did you mean 'com.example.feeds'?"
        ),
        (IdentifierPattern("org.*")!, [anna], "no job 'org.*': look at 'baton list'"),
        (pattern, [anna, HostName("bem")], "no host 'bem', did you mean 'ben'?"),
        (pattern, [HostName("zoe")], "no host 'zoe'; known: anna, ben"),
      ] {
        let error = await Self.refusal { _ = try await fleet.coordinator.setEvicted(wrong, from: hosts, true) }
        guard case .notFound(let message)? = error else {
          Issue.record("\(wrong) from \(hosts): \(String(describing: error))")
          continue
        }
        #expect(message.contains(words))
      }
      #expect(try await fleet.coordinator.store.fleet().hosts.allSatisfy(\.evictions.isEmpty))
      for known in [pattern, IdentifierPattern("com.*")!] {
        #expect(try await fleet.coordinator.setEvicted(known, from: [ben, anna, ben], true) == [anna, ben])
      }
      let evictions = try await fleet.coordinator.store.fleet().hosts.map(\.evictions.count)
      #expect(evictions == [2, 2])
      #expect(try await fleet.coordinator.setEvicted(pattern, from: [anna], false) == [anna])
      let error = await Self.refusal { _ = try await fleet.coordinator.setEvicted(pattern, from: [anna, ben], false) }
      #expect(error == .conflict("'com.example.feeds' is not evicted from anna; what is: com.*"))
      try await fleet.coordinator.remove(pattern)
      #expect(try await fleet.coordinator.setEvicted(pattern, from: [ben], false) == [ben])
    }
  }

  @Test func `a failed request goes on under the repaired definition, and without a number the last that ran`()
    async throws
  {
    let fleet = Fleet(try SQLiteStore.inMemory(), ManualTime())
    let handler: Handler = { task in
      let done = task.progress.completedUnits
      try await task.checkpoint(1, completed: done + 1, of: 2)
      if done == 0 { throw Surprise("no") }
    }
    try await fleet.run([fleet.worker("one", folder: folder, [(Self.name.rawValue, handler)])]) {
      _ = try await fleet.coordinator.apply([Self.titled("broken")])
      while try await fleet.coordinator.details(Self.name, number: 1).record.state != .failed { await Task.yield() }
      let same = await Self.refusal {
        _ = try await fleet.coordinator.retry(
          Self.name, number: nil, skipping: .nothing, withNewDefinition: true)
      }
      guard case .conflict(let message)? = same else {
        Issue.record("\(String(describing: same))")
        return
      }
      #expect(message.contains("already"))
      _ = try await fleet.coordinator.apply([Self.titled("repaired")])
      let retried = try await fleet.coordinator.retry(
        Self.name, number: nil, skipping: .nothing, withNewDefinition: true)
      #expect(retried.number == 1)
      #expect([retried.title, "\(retried.progress.batches)"] == ["repaired", "1"])
      while try await fleet.coordinator.details(Self.name, number: 1).record.state == .ready { await Task.yield() }
      let running = try await fleet.coordinator.details(Self.name, number: 1)
      #expect(running.launches.count == 2, "the dispatcher knows the new definition")
    }
  }
}
