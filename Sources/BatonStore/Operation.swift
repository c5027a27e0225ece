internal import Synchronization

/// One write that waits for a group: run inside its transaction, maybe more than once, and answered once, after the
/// commit or when it is certain that there will be none.
protocol Operation: AnyObject, Sendable {
  /// Runs the verb and keeps what it answered; throws what it threw.
  func run(_ verbs: Verbs) throws
  /// Keeps an error as the answer.
  func fail(_ error: StoreError)
  /// Gives the caller what was kept.
  func answer()
}

final class Write<Value: Sendable>: Operation {
  private let body: @Sendable (Verbs) throws -> Value
  private let caller: CheckedContinuation<Value, any Error>
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let phase = Mutex(Phase.waiting)

  private enum Phase {
    case waiting
    /// The writer has come to it: only its answer says what became of it.
    case begun
    /// The caller was answered, and nothing happens any more.
    case withdrawn
  }

  init(_ body: @escaping @Sendable (Verbs) throws -> Value, for caller: CheckedContinuation<Value, any Error>) {
    self.body = body
    self.caller = caller
  }

  func run(_ verbs: Verbs) throws {
    guard begin() else { return }
    let value = try body(verbs)
    result.withLock { $0 = .success(value) }
  }

  /// False if it was withdrawn.
  private func begin() -> Bool {
    phase.withLock { phase in
      if phase == .waiting { phase = .begun }
      return phase == .begun
    }
  }

  /// The caller gets a `CancellationError`, unless the writer has come to it.
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

/// Lets a caller that is cancelled withdraw its write, in whatever order both come to be known.
final class Withdrawal: Sendable {
  private let state = Mutex<(isWithdrawn: Bool, withdraw: (@Sendable () -> Void)?)>((false, nil))

  /// - Parameter withdraw: called once, at once if it was withdrawn before.
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
  /// Checkpoints, endings, leases, expiry, cancellation: accepted work keeps its promises.
  case urgent
  /// What people ask for: refused when three quarters of the queue are full.
  case submission
  /// Claims, promotions, pruning: refused at seven eighths.
  case ordinary
  /// What launches say on their way: refused when the queue is full.
  case progress

  /// How many writes may wait before this one is refused.
  func room(of limit: Int) -> Int {
    switch self {
    // Workers bound what is urgent by themselves; this bound is there so that there is one.
    case .urgent: limit * 16
    case .submission: max(1, limit - limit / 4)
    case .ordinary: max(1, limit - limit / 8)
    case .progress: limit
    }
  }
}

/// How busy the writer is: `operations / groups` is how many writes shared a commit.
package struct WriteStatistics: Hashable, Sendable {
  package var waiting: Int
  package var groups: Int
  package var operations: Int
}

/// The writes that wait, as a value.
struct WriteQueue {
  /// What `add` asks for.
  enum Effect: Equatable {
    case start
    case wait
    case refuse(StoreError.Code)
  }

  private var urgent: [any Operation] = []
  private var ordinary: [any Operation] = []
  private var isWriting = false
  private let limit: Int
  /// Groups that were handed to the writer, and the operations in them, since the start.
  private(set) var taken = (groups: 0, operations: 0)

  static let largestGroup = 1000
  init(limit: Int) { self.limit = limit }

  var count: Int { urgent.count + ordinary.count }

  /// `.start` if the writer is idle: the caller sets it going.
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

  /// The next group, urgent writes first but never without a share for the others; nil if none waits, and the writer
  /// is idle then.
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
