import BatonCoordinator
import BatonModel
import BatonStore

/// The simulated writer of the store. Writes that wait go into one transaction, and each caller is answered some time
/// after the commit. A crash happens before the commit, or between the commit and the answers.
final class Writer {
  private struct Write {
    var run: (Verbs) throws -> Void
    var fail: (StoreError) -> Void
    /// Keeps an error as the answer, unless the write was refused for another one.
    var failIfUnanswered: (StoreError) -> Void
    /// Tells the journal that the write is durable.
    var committed: () throws -> Void
    var answer: () throws -> Void
  }

  private let world: World
  private let machine: Machine
  private let store: OpenStore
  private let owner: Owner
  private var urgent: [Write] = []
  private var ordinary: [Write] = []
  private var isWriting = false
  /// The disk has failed: every write is answered with "unknown", until the process ends.
  private(set) var hasFailed = false
  private var draw: Draw

  init(_ world: World, _ machine: Machine, _ store: OpenStore, _ owner: Owner) {
    (self.world, self.machine, self.store, self.owner) = (world, machine, store, owner)
    draw = Draw(seed: world.schedule.seed, stream: 2_000 + UInt64(world.coordinatorLives))
  }

  /// Queues a write.
  /// - Parameters:
  ///   - lane: urgent writes go first in a group; all other lanes are one lane here.
  ///   - body: calls the store's verb. An error of the store is the answer to this caller only.
  ///   - committed: tells the journal of the result, at the commit.
  ///   - then: takes the answer. It is not called if the process dies before.
  func write<Value>(
    _ lane: WriteLane, _ body: @escaping (Verbs) throws -> Value,
    committed: @escaping (Value) throws -> Void = { _ in },
    then: @escaping (Result<Value, StoreError>) throws -> Void
  ) {
    var result: Result<Value, StoreError>?
    let world = world
    let write = Write {
      do { result = .success(try body($0)) } catch let error as StoreError { result = .failure(error) }
    } fail: {
      result = .failure($0)
    } failIfUnanswered: {
      if case .failure? = result { return }
      result = .failure($0)
    } committed: {
      if case .success(let value)? = result { try committed(value) }
    } answer: {
      if case .failure(let error)? = result { world.count(.error, "\(error.code)") }
      if let result { try then(result) }
    }
    if let refusal = refusal(of: lane) {
      write.fail(refusal)
      return world.after(wakeUp, for: owner, write.answer)
    }
    if lane == .urgent { urgent.append(write) } else { ordinary.append(write) }
    startIfIdle()
  }

  /// The error of a write that does not even wait; `nil` if it may wait. Urgent writes are never refused as too many.
  private func refusal(of lane: WriteLane) -> StoreError? {
    if hasFailed { return Self.unknown }
    guard world.isOverloaded, lane != .urgent, draw.chance(70) else { return nil }
    return StoreError(.overloaded, "too many writes wait")
  }

  private static let unknown = StoreError(.unknown, "the disk failed")

  /// Reads the last committed state, beside the writer. Nothing says whether the tenure lasts.
  func read<Value>(
    as reader: OpenStore? = nil, _ body: @escaping (Verbs) throws -> Value,
    then: @escaping (Result<Value, StoreError>) throws -> Void
  ) {
    world.after(latency, for: owner) { [self] in
      let result: Result<Value, StoreError>
      do {
        result = .success(try reach { try (reader ?? world.store).transaction(body) })
      } catch let error as StoreError {
        result = .failure(error)
        if error.endsCoordinator { try end(because: error) }
      }
      world.after(wakeUp, for: owner) { try then(result) }
    }
  }

  /// Runs `body` if the coordinator can reach the store.
  private func reach<Value>(_ body: () throws -> Value) throws -> Value {
    if machine.isCutOff { throw StoreError(.unavailable, "the store cannot be reached") }
    return try body()
  }

  /// The process ends soon, because it can write nothing more.
  private func end(because error: StoreError) throws {
    guard !hasFailed else { return }
    hasFailed = true
    world.note("store: \(error.code)")
    if machine.crashPlan == nil || machine.crash == nil {
      machine.crashPlan = (draw.milliseconds(100...3_000), false)
    }
    world.after(draw.milliseconds(0...40), for: owner) { [world, machine] in try world.crashCoordinator(on: machine) }
  }

  private var latency: Duration { .microseconds(draw.number(world.isStoreSlow ? 50_000...900_000 : 50...3_000)) }

  /// The time from the commit until a caller goes on. It is random, so that callers go on in any order, and sometimes
  /// long after the commit.
  private var wakeUp: Duration {
    guard draw.chance(10) else { return .microseconds(draw.number(5...50)) }
    return .microseconds(!world.isCalm && draw.chance(10) ? draw.number(20_000...700_000) : draw.number(100...20_000))
  }

  /// Drops the writes that wait, after the process died.
  func abandon() { (urgent, ordinary) = ([], []) }

  private func startIfIdle() {
    guard !isWriting, !urgent.isEmpty || !ordinary.isEmpty else { return }
    isWriting = true
    world.after(latency, for: owner) { [self] in try writeGroup() }
  }

  private func writeGroup() throws {
    let group = urgent + ordinary
    // Most groups contain no claim. A claim is the write that no other process repeats.
    let isWorthLosing = !world.isShared || !ordinary.isEmpty || draw.chance(20)
    (urgent, ordinary) = ([], [])
    if machine.crash == .beforeCommit { return try world.crashCoordinator(on: machine) }
    if machine.crash == .unknownCommit, isWorthLosing {
      return try world.isShared ? loseConnection(group) : failDisk(group)
    }
    try commitOrFail(group)
    if machine.crash == .betweenCommitAndAnswer { return try world.crashCoordinator(on: machine) }
    finish(group)
  }

  private func commitOrFail(_ group: [Write]) throws {
    do {
      try reach { try commit(group) }
    } catch let error as StoreError {
      for write in group { write.fail(error) }
      if error.endsCoordinator { try end(because: error) }
    }
  }

  private func finish(_ group: [Write]) {
    for write in group { world.after(wakeUp, for: owner, write.answer) }
    isWriting = false
    startIfIdle()
  }

  /// The connection to the store is lost in a commit. The commit was made or not, or it is still being made. The writer
  /// connects again and looks at its own counter, under the lock of its row, which waits for a commit that is still
  /// being made. Until then its callers wait.
  private func loseConnection(_ group: [Write]) throws {
    machine.crash = nil
    let expected = (store.verbs.receipt?.sequence ?? 0) + 1
    let fate = draw.one(of: ["made", "not made", "made later"])
    world.note("store: the connection is lost in a commit, which is \(fate)")
    var isOpen = fate == "made later"
    if fate == "made" { try commitOrFail(group) }
    if isOpen {
      world.after(draw.milliseconds(100...1_500), for: .world) { [self] in
        if isOpen { try commitOrFail(group) }
        isOpen = false
      }
    }
    world.after(draw.milliseconds(50...1_000), for: owner) { [self] in
      if isOpen, world.breakage != .readsCounterWithoutLock {
        isOpen = false
        try commitOrFail(group)
      }
      var isMade = false
      do {
        isMade = try world.store.transaction { _ in try store.verbs.hasCommitted(expected) }
      } catch let error as StoreError where error.endsCoordinator { return try end(because: error) }
      if !isMade || world.breakage == .takesUnknownForRefused {
        for write in group { write.failIfUnanswered(StoreError(.unavailable, "the connection was lost")) }
      }
      finish(group)
    }
  }

  private func commit(_ group: [Write]) throws {
    if world.isDiskFull { throw StoreError(.cannotWrite, "the disk is full") }
    try store.transaction { verbs in for write in group { try write.run(verbs) } }
    for write in group { try write.committed() }
  }

  /// The disk fails in a commit, which was made or not made. The callers are told that this is unknown, and the process
  /// ends soon.
  private func failDisk(_ group: [Write]) throws {
    hasFailed = true
    let isCommitted = draw.chance(50) && !world.isDiskFull
    world.note("store: the disk fails, committed \(isCommitted)")
    if isCommitted { try commitOrFail(group) }
    for write in group {
      write.fail(Self.unknown)
      world.after(wakeUp, for: owner, write.answer)
    }
    world.after(draw.milliseconds(0...40), for: owner) { [world, machine] in try world.crashCoordinator(on: machine) }
  }
}

extension StoreOrder {
  /// The lane in which `SQLiteStore` writes this order.
  var lane: WriteLane {
    switch self {
    case .endOverrun, .endLease, .endLeaseElsewhere, .noteAway, .beat, .endCoordinator, .noteExpiry, .note, .renew,
      .grantLease, .appendItems, .checkpoint, .end:
      .urgent
    case .submit: .submission
    case .learn, .claim, .promote, .findReady, .readFleet, .readDefinitions, .examine, .readAssignments, .readItems:
      .ordinary
    case .noteReports, .noteUses, .appendOutput: .progress
    }
  }
}
