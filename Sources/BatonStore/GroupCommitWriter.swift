internal import BatonModel
internal import GRDB
internal import Synchronization

/// Called after every group of writes, with the time that the group took from leaving the queue until it was on the
/// disk, and with the number of operations in it. The function must not block.
package typealias GroupReport = @Sendable (Duration, Int) -> Void

/// The only writer of a database. It takes all writes that wait, runs them in one transaction, and answers each caller
/// after the commit (group commit). While one group is synced to the disk, the next group gathers in the queue, so many
/// writes share the cost of one sync with `synchronous=FULL`.
///
/// A caller whose task is cancelled still waits for its answer, because its change may already be in the store. Only a
/// withdrawable write that the writer has not begun is answered with `CancellationError` at once.
final class GroupCommitWriter: Sendable {
  private let database: any DatabaseWriter
  private let connection: WriterConnection
  private let queue: Mutex<WriteQueue>
  private let limit: Int
  /// Yields once, when the disk has failed and every later write is refused. The process should then end, so that it
  /// recovers when it is started again.
  let failures: AsyncStream<StoreError>
  private let reportFailure: AsyncStream<StoreError>.Continuation
  private let onGroup: GroupReport?

  /// How many commits the store has made. The value is set after each commit and before its callers are answered, so
  /// every change that was acknowledged is counted in it.
  private let committed: Mutex<Receipt>
  /// The number of this process's tenure.
  let epoch: Int64

  /// - Parameter server: where the rows of each group are loaded from, if `database` is a `WorkingSet`; `nil` if it is
  ///   the store.
  init(
    _ database: any DatabaseWriter, limits: StoreLimits, cache: DefinitionCache, queuesSpans: Bool,
    isShared: Bool, folder: StoreFolder?, server: (any RowServer)? = nil, onGroup: GroupReport? = nil
  ) throws {
    self.onGroup = onGroup
    self.database = database
    connection = WriterConnection(
      limits: limits, cache: cache, queuesSpans: queuesSpans, isShared: isShared, folder: folder, server: server)
    let tenure = try database.writeWithoutTransaction { [connection] in
      try connection.beginTenure(on: $0)
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

  /// Runs `body` in a transaction that may contain the writes of other callers too, and returns after the commit.
  /// `body` may run more than once, because the group is rolled back and repeated if another write in it throws.
  /// - Parameters:
  ///   - isWithdrawable: whether a cancelled task withdraws the write, as long as the writer has not begun it.
  ///   - needs: what `body` is known to need, if the writer loads rows. It finds out the rest.
  /// - Throws: what `body` throws; `.overloaded` if too many writes wait; `.unknown` if the disk failed;
  ///   `CancellationError` if the write was withdrawn.
  func perform<Value: Sendable>(
    _ lane: WriteLane, isWithdrawable: Bool = false, needing needs: KnownNeeds = .nothing,
    _ body: @escaping @Sendable (Verbs) throws -> Value
  ) async throws -> Value {
    guard isWithdrawable else {
      return try await withCheckedThrowingContinuation { add(Write(body, needing: needs, for: $0), lane) }
    }
    let withdrawal = Withdrawal()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { caller in
        let write = Write(body, needing: needs, for: caller)
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
        StoreError(
          code,
          "The store is busy: \(lane.room(of: limit)) or more writes wait. Nothing was changed; try again in a second.")
      )
      write.answer()
    }
  }

  /// Runs `body` in a transaction of its own and blocks until it is committed. Used by the simulation, which has no
  /// concurrency.
  func performNow<Value>(needing needs: KnownNeeds = .nothing, _ body: (Verbs) throws -> Value) throws -> Value {
    try database.writeWithoutTransaction { db in
      var value: Value?
      try connection.transaction(on: db, needing: needs) { value = try body($0) }
      guard let value else { preconditionFailure("a transaction was committed without having been run") }
      return value
    }
  }

  /// Runs `body` on the writer's connection outside of any transaction, and blocks until `body` returns.
  func exclusively<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    try database.writeWithoutTransaction { try body(connection.verbs(of: $0)) }
  }

  /// Runs `body` on the writer's connection between two groups, outside of any transaction. Writes wait meanwhile.
  /// - Parameter ending: says of the result of `body` what every write is answered with afterwards, also those that
  ///   wait; `nil` if the writer goes on.
  /// - Throws: what `body` throws. A cancelled task waits for its end.
  func standStill<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value,
    ending: @escaping @Sendable (Result<Value, any Error>) -> StoreError?
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { caller in
      database.asyncWriteWithoutTransaction { [connection] db in
        let result = Result { try body(db) }
        if let error = ending(result) { connection.refuse(with: error) }
        caller.resume(with: result)
      }
    }
  }

  /// Waits for the group that is being written, then closes the connection. Later writes are answered with `.unknown`.
  func close() async throws {
    try await database.writeWithoutTransaction { [connection] _ in connection.close() }
    reportFailure.finish()
    try database.close()
  }

  /// Writes the next group, answers its callers, and continues until the queue is empty.
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
