internal import CBatonPostgres
internal import Synchronization

/// A thread of the system with one connection. It carries out jobs one after the other, in the order in which they were
/// given to it. Tasks of Swift's concurrency await it, so that no thread of theirs waits for a server.
///
/// The connection is made by a job like any other (`connect`), also to replace one that broke. The thread ends with
/// `end`, or when nothing refers to it any more; the connection is closed with it.
package final class PostgresThread: Sendable {
  /// What the thread does, with its connection, if it has one.
  fileprivate typealias Job = @Sendable (inout PostgresConnection?) -> Void

  private let queue: JobQueue

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: what debuggers show, up to 15 bytes.
  ///   - capacity: how many jobs may wait, besides the one that is carried out.
  ///
  /// Throws `.overloaded` if the system can start no more threads.
  package init(name: String, capacity: Int = 64) throws(PostgresError) {
    guard let queue = JobQueue(capacity: capacity) else {
      throw PostgresError(.overloaded, "there is no memory for a thread")
    }
    self.queue = queue
    let context = Unmanaged.passRetained(queue)
    let error = baton_pq_start_thread(
      name, { Unmanaged<JobQueue>.fromOpaque($0).takeRetainedValue().carryOut() }, context.toOpaque())
    if error != 0 {
      context.release()
      throw PostgresError(.overloaded, "the system cannot start a thread (errno \(error))")
    }
  }

  deinit { queue.close() }

  /// How many jobs wait, without the one that is carried out.
  package var waitingCount: Int { queue.waitingCount }

  /// Carries `body` out on the thread, and returns what it returns. The connection must not leave `body`.
  ///
  /// A job ends by the deadlines of its calls. Cancelling the task that awaits the job has no effect on the job: a
  /// transaction that is half done is worth nothing.
  ///
  /// Throws what `body` throws; `.brokenConnection` if there is no connection yet; `.overloaded` if too many jobs wait;
  /// `.ended` after `end`.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable (PostgresConnection) throws -> Value
  ) async throws -> Value {
    try await perform { connection in
      guard let connection else {
        throw PostgresError(.brokenConnection, "there is no connection to PostgreSQL yet")
      }
      return try body(connection)
    }
  }

  /// Closes the connection, if there is one, and replaces it by the one that `open` makes. If `open` throws, there is
  /// no connection afterwards.
  ///
  /// Throws what `open` throws, and what `run` throws.
  package func connect(_ open: @escaping @Sendable () throws -> PostgresConnection) async throws {
    try await perform { connection in
      connection?.close()
      connection = nil
      connection = try open()
    }
  }

  /// Closes the connection, if there is one. `connect` makes another.
  package func disconnect() async throws {
    try await perform { connection in
      connection?.close()
      connection = nil
    }
  }

  /// Takes no more jobs, carries out those that wait, closes the connection, and returns then. May be called several
  /// times.
  package func end() async { await queue.end() }

  private func perform<Value: Sendable>(
    _ body: @escaping @Sendable (inout PostgresConnection?) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let refusal = queue.add { connection in
        continuation.resume(with: Result { try body(&connection) })
      }
      if let refusal { continuation.resume(throwing: refusal) }
    }
  }
}

/// The jobs of one thread. The queue lives as long as the thread.
private final class JobQueue: Sendable {
  private struct State {
    var jobs: [PostgresThread.Job] = []
    var isClosed = false
    var hasEnded = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  /// Opened once for each job, and once at the end.
  private let gate: Gate
  private let capacity: Int

  init?(capacity: Int) {
    guard let gate = Gate() else { return nil }
    self.gate = gate
    self.capacity = capacity
  }

  var waitingCount: Int { state.withLock { $0.jobs.count } }

  /// Returns why the job was not taken; `nil` if it was.
  func add(_ job: @escaping PostgresThread.Job) -> PostgresError? {
    let refusal = state.withLock { state -> PostgresError? in
      if state.isClosed { return PostgresError(.ended, "the thread of this connection has ended") }
      if state.jobs.count >= capacity {
        return PostgresError(.overloaded, "\(capacity) jobs wait for this connection to PostgreSQL already")
      }
      state.jobs.append(job)
      return nil
    }
    if refusal == nil { gate.open() }
    return refusal
  }

  /// Takes no more jobs.
  func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      return !state.isClosed
    }
    if isFirst { gate.open() }
  }

  /// Closes the queue, and waits until the thread has carried out what is in it.
  func end() async {
    close()
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiters.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  /// The life of the thread.
  func carryOut() {
    var connection: PostgresConnection?
    while let job = next() { job(&connection) }
    connection?.close()
    let waiters = state.withLock { state in
      state.hasEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits for the next job. Returns `nil` when the queue is closed and empty.
  private func next() -> PostgresThread.Job? {
    gate.pass()
    return state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }
}

/// A counting semaphore.
///
/// `@unchecked`: the semaphore in C guards itself, and the pointer never changes.
private final class Gate: @unchecked Sendable {
  private let gate: OpaquePointer

  init?() {
    guard let gate = baton_pq_gate_make() else { return nil }
    self.gate = gate
  }

  deinit { baton_pq_gate_free(gate) }

  func open() { baton_pq_gate_open(gate) }
  func pass() { baton_pq_gate_pass(gate) }
}
