import BatonModel
import Foundation
import GRDB
import Synchronization
import Testing

@testable import BatonStore

@Suite struct GroupCommitTests {
  private struct Unexpected: Error {}

  private func offer(_ name: String, _ definition: DefinitionID) throws -> [SubmissionOffer] {
    let identifier = try #require(JobIdentifier(name))
    return [
      SubmissionOffer(
        submission: Submission(id: name, identifier: identifier, trace: someTrace), definition: definition)
    ]
  }

  /// Runs `body` while the writer is held, lets the writer go when `waiting` writes have gathered, and waits for all
  /// of them.
  private func gather(
    _ store: SQLiteStore, _ waiting: Int, _ body: (inout ThrowingTaskGroup<Void, any Error>) throws -> Void
  ) async throws {
    let gate = DispatchSemaphore(value: 0)
    let (isHeld, held) = AsyncStream.makeStream(of: Void.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await store.write(.urgent) { _ in
          held.finish()
          gate.wait()
        }
      }
      for await _ in isHeld {}
      try body(&group)
      while store.writeStatistics.waiting < waiting { await Task.yield() }
      gate.signal()
      try await group.waitForAll()
    }
  }

  @Test func writesThatWaitShareACommit() async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    let before = store.writeStatistics
    try await gather(store, 200) { group in
      for index in 0..<200 {
        let offer = try offer("com.\(index)", definition)
        group.addTask { _ = try await store.submit(offer, at: someTime) }
      }
    }
    #expect(store.writeStatistics.operations - before.operations == 201)
    #expect(store.writeStatistics.groups - before.groups == 2)
    #expect(try await store.counts().map(\.count) == [200])
  }

  @Test func aSubmissionThatIsCancelledBeforeTheWriterComesToItIsWithdrawn() async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    let offers = try ["com.a", "com.b"].map { try offer($0, definition) }
    try await gather(store, 2) { group in
      group.addTask {
        let withdrawn = Task { try await store.submit(offers[0], at: someTime) }
        while store.writeStatistics.waiting < 1 { await Task.yield() }
        withdrawn.cancel()
        await #expect(throws: CancellationError.self) { try await withdrawn.value }
        _ = try await store.submit(offers[1], at: someTime)
      }
    }
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 9).map(\.identifier.rawValue) == ["com.b"])
  }

  @Test func aGroupHoldsAThousandAtMost() async throws {
    let store = try SQLiteStore.inMemory()
    let before = store.writeStatistics.groups
    try await gather(store, 2500) { group in
      for _ in 0..<2500 { group.addTask { try await store.write(.ordinary) { _ in } } }
    }
    #expect(store.writeStatistics.groups - before == 4)
  }

  @Test(arguments: [0, 7, 19])
  func aWriteThatThrowsHalfwayDisturbsNoOther(culprit: Int) async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    let failures = Shared<[Int]>([])
    try await gather(store, 20) { group in
      for index in 0..<20 {
        let offer = try offer("com.\(index)", definition)
        group.addTask {
          do {
            _ = try await store.write(.ordinary) { verbs in
              _ = try verbs.submit(offer, at: someTime)
              if index == culprit { throw Unexpected() }
            }
          } catch { failures.value.withLock { $0.append(index) } }
        }
      }
    }
    #expect(failures.value.withLock { $0 } == [culprit])
    #expect(try await store.counts().map(\.count) == [19])
    #expect(try await store.submit("com.next", to: definition).number == 1)
    #expect(try await store.recount() == store.counts())
  }

  /// The writer's counts in memory are rolled back together with the transaction.
  @Test func launchTimeIsChargedOnceAlsoWhereAGroupIsRunAgain() async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    try await store.submit("com.a", to: definition)
    let ending = Ending(launch: try await store.start(definition), outcome: .finished)
    let later = someTime + .seconds(10)
    try await gather(store, 2) { group in
      group.addTask { _ = try await store.end([ending], from: someWorker, at: later) }
      group.addTask {
        _ = await refusal {
          try await store.write(.ordinary) { verbs in
            try verbs.db.execute(sql: "UPDATE store SET is_paused = 1")
            throw Unexpected()
          }
        }
      }
    }
    let fleet = try await store.fleet()
    #expect(fleet.use.values.map(\.used) == [.seconds(10)])
    #expect(fleet.hosts.map(\.use.used) == [.seconds(10)])
  }

  @Test func aWriteThatIsRunAloneAndFindsTheDiskFullIsTold() async throws {
    let store = try SQLiteStore.inMemory()
    let definition = try await store.prepare()
    let offer = try offer("com.a", definition)
    let runs = Shared(0)
    let error = await refusal {
      try await store.write(.ordinary) { verbs in
        _ = try verbs.submit(offer, at: someTime)
        let run = runs.value.withLock {
          $0 += 1
          return $0
        }
        throw run == 1 ? Unexpected() : DatabaseError(resultCode: .SQLITE_FULL) as any Error
      }
    }
    #expect(error?.code == .cannotWrite)
    #expect(try await store.counts() == [])
    #expect(try await store.submit("com.a", to: definition).number == 1)
  }

  @Test func aFailedStoreIsClosedAndFreeAgain() async throws {
    try await TemporaryFolder.with { folder in
      let store = try SQLiteStore.open(folder: folder)
      _ = await refusal {
        try await store.write(.ordinary) { _ in throw DatabaseError(resultCode: .SQLITE_IOERR_WRITE) }
      }
      try await store.close()
      #expect(await refusal { try await store.setPaused(true) }?.code == .unknown)
      try await SQLiteStore.open(folder: folder).close()
    }
  }

  /// A refused write that changed nothing does not make the other writes of its group run again.
  @Test func aRefusalDoesNotMakeTheOthersRunAgain() async throws {
    let store = try SQLiteStore.inMemory()
    let runs = Shared(0)
    try await gather(store, 3) { group in
      for index in 0..<3 {
        group.addTask {
          if index == 1 {
            #expect(
              await refusal { _ = try await store.retry(RequestID(9), skipping: .nothing, at: someTime) } != nil)
          } else {
            try await store.write(.ordinary) { _ in runs.value.withLock { $0 += 1 } }
          }
        }
      }
    }
    #expect(runs.value.withLock { $0 } == 2)
  }

  @Test func urgentWritesGoFirstAndTheOthersDoNotStarve() throws {
    var queue = WriteQueue(limit: 4096)
    for _ in 0..<2000 { _ = queue.add(Marker(.urgent), .urgent) }
    for _ in 0..<600 { _ = queue.add(Marker(.ordinary), .ordinary) }
    let groups = [queue.takeGroup(), queue.takeGroup(), queue.takeGroup()].map { group in
      (group ?? []).compactMap { ($0 as? Marker)?.lane }
    }
    #expect(groups.map { $0.count { $0 == .urgent } } == [750, 750, 500])
    #expect(groups.map { $0.count { $0 == .ordinary } } == [250, 250, 100])
    #expect(groups.allSatisfy { $0.first == .urgent })
    #expect(queue.takeGroup() == nil)
  }

  @Test func overloadShedsOrdinaryWritesAndKeepsUrgentOnes() {
    var queue = WriteQueue(limit: 3)
    #expect(queue.add(Marker(.ordinary), .ordinary) == .start)
    #expect(queue.add(Marker(.ordinary), .ordinary) == .wait)
    #expect(queue.add(Marker(.ordinary), .ordinary) == .wait)
    #expect(queue.add(Marker(.ordinary), .ordinary) == .refuse(.overloaded))
    #expect(queue.add(Marker(.urgent), .urgent) == .wait)
  }

  @Test func overloadShedsWhatCanBeDoneWithoutFirst() {
    var queue = WriteQueue(limit: 4096)
    var refusedAt: [WriteLane: Int] = [:]
    for count in 0..<4096 {
      for lane in [WriteLane.submission, .ordinary, .progress] where refusedAt[lane] == nil {
        var trial = queue
        if trial.add(Marker(lane), lane) == .refuse(.overloaded) { refusedAt[lane] = count }
      }
      _ = queue.add(Marker(.urgent), .urgent)
    }
    #expect(refusedAt == [.submission: 3072, .ordinary: 3584])
    #expect(queue.add(Marker(.progress), .progress) == .refuse(.overloaded))
    #expect(queue.add(Marker(.urgent), .urgent) == .wait)
  }

  /// Lists write nothing. They are refused because of the writes that wait.
  @Test func listsAreRefusedFirst() async throws {
    let store = try SQLiteStore.inMemory(limits: StoreLimits(waitingWrites: 8))
    let codes = Shared<[StoreError.Code?]>([])
    try await gather(store, 5) { group in
      for index in 0..<4 { group.addTask { try await store.write(.urgent) { _ in _ = index } } }
      group.addTask {
        while store.writeStatistics.waiting < 4 { await Task.yield() }
        let list = await refusal { _ = try await store.requests(RequestFilter(), after: nil, limit: 1) }
        // The fifth write that waits is a submission, and is still accepted.
        codes.value.withLock { $0 = [list?.code] }
        try await store.write(.submission) { _ in }
      }
    }
    #expect(codes.value.withLock { $0 } == [.overloaded])
    #expect(try await store.requests(RequestFilter(), after: nil, limit: 1) == [])
  }

  @Test func overloadIsAnsweredWithWhenToTryAgain() async throws {
    let store = try SQLiteStore.inMemory(limits: StoreLimits(waitingWrites: 2))
    let error = Shared<StoreError?>(nil)
    let refused = AsyncStream.makeStream(of: Void.self)
    try await gather(store, 2) { group in
      for _ in 0..<3 {
        group.addTask {
          if let found = await refusal({ try await store.write(.ordinary) { _ in } }) {
            error.value.withLock { $0 = found }
          }
          refused.continuation.finish()
        }
      }
    }
    #expect(error.value.withLock { $0 }.map { $0.code == .overloaded && $0.message.contains("try again") } ?? true)
  }

  @Test func afterADiskErrorEveryWriteIsUnknownAndTheStoreSaysSo() async throws {
    let store = try SQLiteStore.inMemory()
    let first = await refusal {
      try await store.write(.ordinary) { _ in
        throw DatabaseError(resultCode: .SQLITE_IOERR_FSYNC, message: "disk I/O error")
      }
    }
    #expect(first?.code == .unknown)
    #expect(await refusal { try await store.setPaused(true) }?.code == .unknown)
    var reports = store.failures.makeAsyncIterator()
    #expect(await reports.next()?.code == .unknown)
    #expect(try await store.fleet().isPaused == false)
  }

  /// Only a submission is withdrawn if its caller is cancelled before the writer comes to it; no other write is.
  @Test func aCancelledCallerStillGetsItsAnswer() async throws {
    let store = try SQLiteStore.inMemory()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.setPaused(true)
    }
    try await task.value
    #expect(try await store.fleet().isPaused)
  }
}

private final class Shared<Value: Sendable>: Sendable {
  let value: Mutex<Value>
  init(_ value: Value) { self.value = Mutex(value) }
}

private final class Marker: BatonStore.Operation {
  let keys: [RowKey] = []
  let lane: WriteLane
  init(_ lane: WriteLane) { self.lane = lane }
  func run(_ verbs: Verbs) {}
  func fail(_ error: StoreError) {}
  func answer() {}
}

extension SQLiteStore {
  /// The counts, counted from the rows. Each running shard of a request counts as running. This is not comparable with
  /// `counts` while other shards of a request run and its own one does not.
  func recount() async throws -> [DefinitionCount] {
    try await read { verbs in
      let sql = """
        SELECT p.name, r.state, count(*) FROM request r JOIN definition d ON d.id = r.definition
          JOIN pattern p ON p.id = d.pattern WHERE r.head IS NULL OR r.state = \(RequestState.running.code)
          GROUP BY p.name, r.state ORDER BY p.name, r.state
        """
      return try Row.fetchAll(verbs.db, sql: sql).map { row in
        DefinitionCount(
          pattern: IdentifierPattern(trusted: row[0]), state: RequestState(code: row[1]), count: row[2])
      }
    }
  }
}
