import BatonBase
import BatonCore
import BatonHandler
import BatonModel
import BatonTelemetry
import Synchronization

/// The runtime of a handler or a command on a worker. It keeps the parts of a launch that only the shell can have: the
/// continuations of open questions, output that waits for the next tick, and the span of the run. It reads everything
/// else from the worker's core (`WorkerLaunch`).
final class ActiveLaunch: CommandRuntime {
  private struct State {
    /// The handlers that wait for an answer, by the id of the question.
    var continuations: [Int: CheckedContinuation<Dialogue.Answer, any Error>] = [:]
    var lastQuestion = 0
    /// The output that has not been sent yet.
    var output: [UInt8] = []
    var span: RunSpan?
  }

  let assignment: Assignment
  let definition: Definition
  /// Is raised when the handler is asked to stop, and when it has ended.
  let stop = Signal()
  private let worker: Worker
  private let state = Mutex(State())

  init(_ assignment: Assignment, _ definition: Definition, worker: Worker) {
    (self.assignment, self.definition, self.worker) = (assignment, definition, worker)
  }

  var key: LaunchKey { assignment.launch }
  /// The names of the launch in log lines.
  var subject: LaunchSubject { assignment.subject }

  // MARK: For the handler

  /// The expiry that handlers see, with its deadline on `ContinuousClock`.
  var expiry: Expiry? {
    (read { $0.expiry } ?? nil).map { window in
      Expiry(reason: window.reason, deadline: .now + (window.deadline - worker.clocks.instant()))
    }
  }
  var progress: Progress { read { $0.assignment.progress } ?? assignment.progress }
  var frozenItems: Int? { read { $0.assignment.frozenItems } ?? assignment.frozenItems }

  var shard: Shard? { read { $0.assignment.shard } ?? assignment.shard }

  /// Reads from the core's launch. Returns `nil` after the launch was forgotten; then only tasks that a handler left
  /// behind still read.
  private func read<Value: Sendable>(_ body: (inout WorkerLaunch) -> Value) -> Value? {
    worker.state.withLock { $0.core.launch(key, body) }
  }

  /// Saves a checkpoint. Cancellation does not interrupt it, so that a batch that ends within the closing window is
  /// committed.
  func commit(_ commit: Commit) async throws {
    if !commit.transfers.isEmpty, worker.transfers == nil {
      throw HandlerError(.checkpointRefused, "this host carries out no transfers")
    }
    let id = nextQuestion()
    _ = try await withCheckedThrowingContinuation { ask(.commit(commit), id, $0) }
  }

  func commitLast(_ commit: Commit) async throws {
    if !commit.transfers.isEmpty { return try await self.commit(commit) }
    guard case .refused(let text, let isSuperseded)? = worker.state.withLock({ $0.core.conclude(key, with: commit) })
    else { return }
    throw HandlerError(isSuperseded ? .superseded : .checkpointRefused, text)
  }

  func freeze(_ items: [String], start: Int, isLast: Bool) async throws {
    _ = try await askUntilCancelled(.freeze(items, start: start, isLast: isLast))
  }

  func items(start: Int, count: Int) async throws -> [String] {
    guard case .items(let items) = try await askUntilCancelled(.items(start: start, count: count)) else { return [] }
    return items
  }

  /// Submits a request. Cancellation does not interrupt it, so that a handler can submit within the closing window.
  func submit(_ submission: LaunchSubmission) async throws -> AcceptedSubmission {
    let id = nextQuestion()
    return try await withCheckedThrowingContinuation { ask(.submit(submission), id, $0) }.submitted()
  }

  func conclude(_ result: RefreshResult) { worker.state.withLock { $0.core.conclude(key, result) } }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    worker.say(
      .update(
        LaunchUpdate(
          launch: key, title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits)))
  }

  /// Keeps output until the next tick, and only the last 64 KiB of it. A flood of output therefore never delays
  /// messages that matter.
  func output(_ bytes: [UInt8]) {
    state.withLock { state in
      state.output += bytes
      let surplus = state.output.count - OutputChunk.maximumKeptBytes
      if surplus > 0 { state.output.removeFirst(surplus) }
    }
  }

  // MARK: For the worker

  /// Removes and returns the output since the last call; `nil` if there is none.
  func takeOutput() -> OutputChunk? {
    state.withLock { state in
      guard !state.output.isEmpty else { return nil }
      defer { state.output = [] }
      return OutputChunk(launch: key, bytes: state.output)
    }
  }

  /// The span of the handler's run; nil before the handler starts.
  var span: RunSpan? {
    get { state.withLock { $0.span } }
    set { state.withLock { $0.span = newValue } }
  }

  /// Resumes the caller that waits for the answer to question `id`, if there still is one.
  func answered(_ id: Int, _ answer: Dialogue.Answer) {
    let continuation = take(id)
    switch answer {
    case .done, .items, .submitted: continuation?.resume(returning: answer)
    case .refused(let text, let isSuperseded):
      continuation?.resume(throwing: HandlerError(isSuperseded ? .superseded : .checkpointRefused, text))
    }
  }

  // MARK: Questions

  /// Asks a question, and throws `CancellationError` when the launch expires: the answer would be useless, and while
  /// the coordinator is away it might come after the deadline.
  private func askUntilCancelled(_ question: Dialogue.Question) async throws -> Dialogue.Answer {
    let id = nextQuestion()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        ask(question, id, continuation)
        if Task.isCancelled { giveUp(id) }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  private func nextQuestion() -> Int {
    state.withLock { state in
      state.lastQuestion += 1
      return state.lastQuestion
    }
  }

  private func ask(
    _ question: Dialogue.Question, _ id: Int, _ continuation: CheckedContinuation<Dialogue.Answer, any Error>
  ) {
    state.withLock { $0.continuations[id] = continuation }
    worker.decide(for: self) { $0.ask(key, question, id: id) }
  }

  private func giveUp(_ id: Int) {
    guard let continuation = take(id) else { return }
    worker.state.withLock { $0.core.giveUp(key, question: id) }
    continuation.resume(throwing: CancellationError())
  }

  private func take(_ id: Int) -> CheckedContinuation<Dialogue.Answer, any Error>? {
    state.withLock { $0.continuations.removeValue(forKey: id) }
  }
}
