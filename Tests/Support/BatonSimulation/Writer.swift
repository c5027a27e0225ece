import BatonCoordinator
import BatonModel
import BatonStore

/// The simulated writer of the store. Writes that wait go into one transaction, and each caller is answered some time
/// after the commit. A crash happens before the commit, or between the commit and the answers.
final class Writer {
  private struct Write {
    var run: (Verbs) throws -> Void
    var fail: (StoreError) -> Void
    /// Tells the journal that the write is durable.
    var committed: () throws -> Void
    var answer: () throws -> Void
  }

  private let world: World
  private let owner: Owner
  private var urgent: [Write] = []
  private var ordinary: [Write] = []
  private var isWriting = false
  /// The disk has failed: every write is answered with "unknown", until the process ends.
  private(set) var hasFailed = false
  private var draw: Draw

  init(_ world: World, _ owner: Owner) {
    (self.world, self.owner) = (world, owner)
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

  /// Reads the last committed state, beside the writer.
  func read<Value>(
    _ body: @escaping (Verbs) throws -> Value, then: @escaping (Value) throws -> Void
  ) {
    world.after(latency, for: owner) { [self] in
      let value = try world.store.transaction(body)
      world.after(wakeUp, for: owner) { try then(value) }
    }
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
    (urgent, ordinary) = ([], [])
    if world.crash == .beforeCommit { return try world.crashCoordinator() }
    if world.crash == .unknownCommit { return try failDisk(group) }
    if world.isDiskFull {
      for write in group { write.fail(StoreError(.cannotWrite, "the disk is full")) }
    } else {
      try commit(group)
    }
    if world.crash == .betweenCommitAndAnswer { return try world.crashCoordinator() }
    for write in group { world.after(wakeUp, for: owner, write.answer) }
    isWriting = false
    startIfIdle()
  }

  private func commit(_ group: [Write]) throws {
    try world.store.transaction { verbs in for write in group { try write.run(verbs) } }
    for write in group { try write.committed() }
  }

  /// The disk fails in a commit, which was made or not made. The callers are told that this is unknown, and the process
  /// ends soon.
  private func failDisk(_ group: [Write]) throws {
    hasFailed = true
    let isCommitted = draw.chance(50)
    world.note("store: the disk fails, committed \(isCommitted)")
    if isCommitted { try commit(group) }
    for write in group {
      write.fail(Self.unknown)
      world.after(wakeUp, for: owner, write.answer)
    }
    world.after(draw.milliseconds(0...40), for: owner) { [world] in try world.crashCoordinator() }
  }
}

extension StoreOrder {
  /// The lane in which `SQLiteStore` writes this order.
  var lane: WriteLane {
    switch self {
    case .endOverrun, .endLease, .noteExpiry, .note, .grantLease, .appendItems, .checkpoint, .end: .urgent
    case .learn, .claim, .promote, .findReady, .readAssignments, .readItems: .ordinary
    case .noteReports, .noteUses, .appendOutput: .progress
    }
  }
}
