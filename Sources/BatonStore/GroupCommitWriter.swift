internal import BatonModel
internal import GRDB
internal import Synchronization

/// Told of every group that was written: how long it took, from being taken to being on disk, and how many operations it
/// had. It must not wait.
package typealias GroupReport = @Sendable (Duration, Int) -> Void

/// The one writer of a database: takes whatever waits, runs it in one transaction, and answers each caller after the
/// commit. While the disk is busy with one group, the next one fills; that is what pays for `synchronous=FULL`.
///
/// A caller that is cancelled still waits for its answer, because the change may be there, unless its write may be
/// withdrawn and was not begun.
final class GroupCommitWriter: Sendable {
  private let database: any DatabaseWriter
  private let connection: WriterConnection
  private let queue: Mutex<WriteQueue>
  private let limit: Int
  /// Tells once that the disk failed and every later write is refused: the process should end, recover and go on.
  let failures: AsyncStream<StoreError>
  private let reportFailure: AsyncStream<StoreError>.Continuation
  private let onGroup: GroupReport?

  /// How far the store is, by the last commit; said after it, so that everything answered until then is in it.
  private let committed: Mutex<Receipt>
  /// Of this process's turn.
  let epoch: Int64

  init(
    _ database: any DatabaseWriter, limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool,
    folder: StoreFolder?, onGroup: GroupReport? = nil
  ) throws {
    self.onGroup = onGroup
    self.database = database
    connection = WriterConnection(limits: limits, cache: cache, queuesSpans: queuesSpans, folder: folder)
    let tenure = try database.writeWithoutTransaction { [connection] in
      try connection.beginTenure(.random(in: 1 ... .max), on: $0)
    }
    epoch = tenure.epoch
    committed = Mutex(tenure.receipt)
    limit = limits.waitingWrites
    queue = Mutex(WriteQueue(limit: limits.waitingWrites))
    (failures, reportFailure) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
  }

  var receipt: Receipt { committed.withLock { $0 } }

  var statistics: WriteStatistics {
    queue.withLock { queue in
      WriteStatistics(waiting: queue.count, groups: queue.taken.groups, operations: queue.taken.operations)
    }
  }

  /// Runs `body` in a transaction that may hold others' writes too, perhaps more than once; returns after the commit.
  func perform<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool = false, _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    guard isWithdrawable else {
      return try await withCheckedThrowingContinuation { add(Write(body, for: $0), lane) }
    }
    let withdrawal = Withdrawal()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { caller in
        let write = Write(body, for: caller)
        withdrawal.watch { write.withdraw() }
        add(write, lane)
      }
    } onCancel: {
      withdrawal.withdraw()
    }
  }

  private func add(_ write: some Operation, _ lane: WriteLane) {
    switch queue.withLock({ $0.add(write, lane) }) {
    case .start: writeNextGroup()
    case .wait: break
    case .refuse(let code):
      write.fail(
        StoreError(code, "\(lane.room(of: limit)) writes wait already, nothing was changed; try again in a second."))
      write.answer()
    }
  }

  /// Runs `body` in a transaction of its own and blocks until it is committed: for the simulation, which has no
  /// concurrency.
  func performNow<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    try database.writeWithoutTransaction { db in
      var value: Value?
      try connection.verbs(of: db).transaction { value = try body($0) }
      guard let value else { preconditionFailure("a transaction was committed without having been run") }
      return value
    }
  }

  /// Runs `body` on the writer's connection, outside of any transaction, and blocks until it is through.
  func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    try database.writeWithoutTransaction { try body(connection.verbs(of: $0)) }
  }

  /// Waits for what is being written, then lets go of the connection.
  func close() async throws {
    try await database.writeWithoutTransaction { [connection] _ in connection.close() }
    reportFailure.finish()
    try database.close()
  }

  private func writeNextGroup() {
    database.asyncWriteWithoutTransaction { [self] db in
      guard let group = queue.withLock({ $0.takeGroup() }) else { return }
      let begin = ContinuousClock.now
      let failure = connection.write(group, to: db)
      if let receipt = connection.receipt { committed.withLock { $0 = receipt } }
      onGroup?(ContinuousClock.now - begin, group.count)
      if let failure {
        reportFailure.yield(failure)
        reportFailure.finish()
      }
      for operation in group { operation.answer() }
      writeNextGroup()
    }
  }
}
