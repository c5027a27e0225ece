internal import Synchronization

/// A write that waits for the writer. It runs in the transaction of its group, and runs again if the group is repeated.
/// Its caller is answered exactly once: after the commit, or when it is certain that there will be no commit.
protocol Operation: AnyObject, Sendable {
  /// The rows that the verb is known to need, if it runs on loaded rows.
  var keys: [RowKey] { get }
  /// Runs the verb and keeps its result as the answer. Throws what the verb throws.
  func run(_ verbs: Verbs) throws
  /// Keeps `error` as the answer.
  func fail(_ error: StoreError)
  /// Gives the kept answer to the caller.
  func answer()
}

/// The operation of one caller, who waits in a continuation. It can be withdrawn until the writer begins it.
final class Write<Value: Sendable>: Operation {
  private let body: @Sendable (Verbs) throws -> Value
  private let needs: KnownNeeds
  private let caller: CheckedContinuation<Value, any Error>
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let phase = Mutex(Phase.waiting)

  private enum Phase {
    case waiting
    /// The writer has begun the write. From now on only the writer's answer says whether the change was made.
    case begun
    /// The caller was answered with `CancellationError`, and the write does nothing any more.
    case withdrawn
  }

  init(
    _ body: @escaping @Sendable (Verbs) throws -> Value, needing needs: KnownNeeds,
    for caller: CheckedContinuation<Value, any Error>
  ) {
    self.body = body
    self.needs = needs
    self.caller = caller
  }

  var keys: [RowKey] { needs.keys }

  func run(_ verbs: Verbs) throws {
    guard begin() else { return }
    let value = try body(verbs)
    result.withLock { $0 = .success(value) }
  }

  /// Marks the write as begun. Returns false if it was withdrawn before.
  private func begin() -> Bool {
    phase.withLock { phase in
      if phase == .waiting { phase = .begun }
      return phase == .begun
    }
  }

  /// Answers the caller with `CancellationError` and makes the write do nothing. Has no effect if the writer has begun
  /// the write.
  func withdraw() {
    let isWithdrawn = phase.withLock { phase in
      guard phase == .waiting else { return false }
      phase = .withdrawn
      return true
    }
    if isWithdrawn { caller.resume(throwing: CancellationError()) }
  }

  func fail(_ error: StoreError) { result.withLock { $0 = .failure(error) } }

  func answer() {
    guard begin() else { return }
    guard let result = result.withLock({ $0 }) else { preconditionFailure("a write was answered before it was run") }
    caller.resume(with: result)
  }
}

/// Withdraws the write of a cancelled caller. The cancellation can come before or after the write exists; both orders
/// work.
final class Withdrawal: Sendable {
  private let state = Mutex<(isWithdrawn: Bool, withdraw: (@Sendable () -> Void)?)>((false, nil))

  /// Registers how to withdraw the write.
  /// - Parameter withdraw: called at once if `withdraw()` was called before, and otherwise when it is called.
  func watch(_ withdraw: @escaping @Sendable () -> Void) {
    let isWithdrawn = state.withLock { state in
      state.withdraw = withdraw
      return state.isWithdrawn
    }
    if isWithdrawn { withdraw() }
  }

  func withdraw() {
    let withdraw = state.withLock { state in
      state.isWithdrawn = true
      return state.withdraw
    }
    withdraw?()
  }
}

/// Which writes go first when writes wait, and which are refused when too many wait (promise P13). There are two lanes:
/// `urgent`, and all others. In the second lane the writes that are missed least are refused first.
package enum WriteLane: Sendable {
  /// Checkpoints, endings, leases, expiry, cancellation and operators' orders about hosts. Refused only when 16 times
  /// the queue's limit wait, so that accepted work keeps its promises.
  case urgent
  /// Submissions and applied definitions: refused when three quarters of the queue are full.
  case submission
  /// Claims, promotions, retries, confirmed spans and pruning: refused when seven eighths of the queue are full.
  case ordinary
  /// Output, reports of hosts and other progress: refused when the queue is full.
  case progress

  /// How many writes may wait before a write of this lane is refused.
  /// - Parameter limit: the size of the queue, `StoreLimits.waitingWrites`.
  func room(of limit: Int) -> Int {
    switch self {
    // Workers themselves limit how many urgent writes they send. This bound exists because every queue must have a
    // bound.
    case .urgent: limit * 16
    case .submission: max(1, limit - limit / 4)
    case .ordinary: max(1, limit - limit / 8)
    case .progress: limit
    }
  }
}

/// How busy the writer is. `operations / groups` is the average number of writes that shared a commit.
package struct WriteStatistics: Hashable, Sendable {
  package var waiting: Int
  package var groups: Int
  package var operations: Int
}

/// The queue of writes that wait, as a value. `GroupCommitWriter` acts on what it answers.
struct WriteQueue {
  /// What the caller of `add` has to do.
  enum Effect: Equatable {
    case start
    case wait
    case refuse(StoreError.Code)
  }

  private var urgent: [any Operation] = []
  private var ordinary: [any Operation] = []
  private var isWriting = false
  private let limit: Int
  /// How many groups were handed to the writer since the start, and how many operations they contained.
  private(set) var taken = (groups: 0, operations: 0)

  static let largestGroup = 1000
  init(limit: Int) { self.limit = limit }

  var count: Int { urgent.count + ordinary.count }

  /// Adds a write to the queue.
  /// - Returns: `.start` if the writer is idle, and the caller has to start it; `.wait` if the writer is busy;
  ///   `.refuse` if too many writes wait, and the write was not added.
  mutating func add(_ operation: any Operation, _ lane: WriteLane) -> Effect {
    guard count < lane.room(of: limit) else { return .refuse(.overloaded) }
    switch lane {
    case .urgent: urgent.append(operation)
    case .submission, .ordinary, .progress: ordinary.append(operation)
    }
    if isWriting { return .wait }
    isWriting = true
    return .start
  }

  /// Takes the next group, at most `largestGroup` writes. Urgent writes come first, but up to a quarter of the group is
  /// kept for the other lane, so that it always advances.
  /// - Returns: `nil` if no write waits; the writer is idle from then on.
  mutating func takeGroup() -> [any Operation]? {
    guard count > 0 else {
      isWriting = false
      return nil
    }
    let share = min(ordinary.count, Self.largestGroup / 4)
    var group = Array(urgent.prefix(Self.largestGroup - share))
    urgent.removeFirst(group.count)
    let rest = ordinary.prefix(Self.largestGroup - group.count)
    group += rest
    ordinary.removeFirst(rest.count)
    taken.groups += 1
    taken.operations += group.count
    return group
  }
}
