import BatonBase
import BatonModel
import BatonWire
import GRPCCore
import Synchronization

/// Performs calls over one connection, which it makes again when the connection is lost.
final class CoordinatorCalls: Sendable {
  typealias Body<Result> = @Sendable (HeldConnection.Operators, Metadata) async throws -> Result

  private struct State {
    /// The connection, or the attempt to connect; `nil` before the first call and after a loss.
    var connection: Promise<HeldConnection>?
    /// The index of the address to try first.
    var next = 0
    /// When a coordinator last answered; `nil` if none has.
    var answeredAt: Instant?
    var isClosed = false
  }

  private let location: CoordinatorLocation
  private let patience: Duration
  /// How long a coordinator may take for an answer that is no stream.
  let answer: Duration
  let clocks: Clocks
  private let state = Mutex(State())

  init(_ location: CoordinatorLocation, patience: Duration, answer: Duration = .seconds(5), clocks: Clocks) {
    (self.location, self.patience, self.answer, self.clocks) = (location, patience, answer, clocks)
  }

  /// The connection, if there is one now.
  var present: HeldConnection? { try? state.withLock { $0.connection }?.result?.get() }

  func close() {
    let connection = state.withLock { state in
      state.isClosed = true
      return state.connection.take()
    }
    connection?.fulfil(.failure(Self.isClosed))
    (try? connection?.result?.get())?.close(because: Self.isClosed)
  }

  private static let isClosed = JobClientError(.closed, "this client was closed: make another one")

  /// Performs a call that has no second effect when it is repeated.
  /// - Throws: `JobClientError`, and `CancellationError`.
  func call<Result: Sendable>(_ body: @escaping Body<Result>) async throws -> Result {
    try await call(within: answer, body)
  }

  /// - Parameter limit: how long a coordinator may take to answer; `nil` for a stream, which says that it has answered
  ///   with `noteAnswer`.
  func call<Result: Sendable>(within limit: Duration?, _ body: @escaping Body<Result>) async throws -> Result {
    var pauses = Pauses()
    let start = clocks.instant()
    while true {
      do {
        let result = try await attempt(within: limit, body)
        if limit != nil { noteAnswer() }
        return result
      } catch let error as JobClientError where mayTryAgain(after: error, since: start) {
        try await clocks.sleep(pauses.next())
      }
    }
  }

  /// A coordinator has answered.
  func noteAnswer() {
    let now = clocks.instant()
    state.withLock { $0.answeredAt = now }
  }

  /// - Parameter start: when the call began.
  private func mayTryAgain(after error: JobClientError, since start: Instant) -> Bool {
    guard error.isOfConnection, let last = state.withLock({ $0.answeredAt }) else { return false }
    return clocks.instant() - max(start, last) < patience
  }

  private func attempt<Result: Sendable>(within limit: Duration?, _ body: @escaping Body<Result>) async throws -> Result
  {
    let promise = try connection()
    let connection = try await promise.value()
    do {
      let call: @Sendable () async throws -> Result = { try await body(connection.operators, connection.metadata) }
      return try await limit == nil ? call() : CallDeadline.within(limit ?? .zero, call)
    } catch {
      try Task.checkCancellation()
      let meaning = JobClientError.meaning(of: error, at: connection.endpoint)
      guard let failure = meaning as? JobClientError, failure.isOfConnection else { throw meaning }
      drop(promise)
      if failure.code == .unavailable {
        connection.close(because: failure)
        throw failure
      }
      throw JobClientError.meaning(of: await connection.closed(because: error), at: connection.endpoint)
    }
  }

  /// Forgets a connection, so that the next call makes another one: to the next address, if there are several.
  private func drop(_ promise: Promise<HeldConnection>) {
    state.withLock { state in
      guard state.connection === promise else { return }
      (state.connection, state.next) = (nil, (state.next + 1) % location.addresses.count)
    }
  }

  // MARK: Connecting

  /// The connection, or the attempt to connect that all callers wait for.
  private func connection() throws -> Promise<HeldConnection> {
    let (promise, isNew) = try state.withLock { state in
      if state.isClosed { throw Self.isClosed }
      if let connection = state.connection { return (connection, false) }
      let promise = Promise<HeldConnection>()
      state.connection = promise
      return (promise, true)
    }
    // No caller owns the attempt: the first one may be cancelled while others wait for it.
    if isNew { Task { await connect(promise) } }
    return promise
  }

  private func connect(_ promise: Promise<HeldConnection>) async {
    let first = state.withLock { $0.next }
    let count = location.addresses.count
    var problems: [JobClientError] = []
    for index in (0..<count).map({ (first + $0) % count }) {
      let endpoint = location.addresses[index]
      do {
        let connection = try await HeldConnection.open(endpoint, location.access)
        state.withLock { $0.next = index }
        // The client was closed meanwhile.
        if !promise.fulfil(.success(connection)) { connection.close(because: Self.isClosed) }
        return
      } catch {
        let meaning = JobClientError.meaning(of: error, at: endpoint)
        problems.append(meaning as? JobClientError ?? JobClientError(.unreachable, "\(endpoint): \(meaning)"))
      }
    }
    drop(promise)
    promise.fulfil(.failure(Self.all(problems)))
  }

  /// One error for the errors of all addresses.
  private static func all(_ problems: [JobClientError]) -> JobClientError {
    if problems.count == 1 { return problems[0] }
    return JobClientError(
      problems.allSatisfy { $0.code == .notPermitted } ? .notPermitted : .unreachable,
      "none of the \(problems.count) coordinators answers: " + problems.map(\.message).joined(separator: "; "))
  }
}

/// The waits between the attempts of one call. The first attempt after a loss is made at once, because a coordinator
/// may have closed a connection that was idle.
struct Pauses {
  private var last: Duration?

  mutating func next() -> Duration {
    guard let last else {
      self.last = .milliseconds(100)
      return .zero
    }
    self.last = min(last * 2, .seconds(1))
    return last
  }
}
