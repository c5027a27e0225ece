import BatonHandler
import BatonModel
import Synchronization

/// What a running handler holds: its questions to the store wait here for their answers, one after the other.
final class ActiveLaunch: CommandRuntime {
  enum Answer: Sendable {
    case done
    case frozen(Bool)
    case items([String])
  }

  fileprivate enum Question {
    case commit(Commit)
    case freeze([String], start: Int, isLast: Bool)
    case items(start: Int, count: Int)
  }

  fileprivate struct State {
    var progress: Progress
    var frozenItems: Int?
    var expiry: Expiry?
    /// The first one is asked, the others wait.
    var questions: [(question: Question, continuation: CheckedContinuation<Answer, any Error>)] = []
    var whenExpired: CheckedContinuation<Void, Never>?
    var isOver = false
  }

  let key: LaunchKey
  private let worker: Worker
  private let state: Mutex<State>

  init(_ assignment: Assignment, worker: Worker) {
    key = assignment.launch
    self.worker = worker
    state = Mutex(State(progress: assignment.progress, frozenItems: assignment.frozenItems))
  }

  // MARK: For the handler

  var expiry: Expiry? { state.withLock { $0.expiry } }
  var progress: Progress { state.withLock { $0.progress } }
  var frozenItems: Int? { state.withLock { $0.frozenItems } }

  func commit(_ commit: Commit) async throws {
    guard commit.cursor?.count ?? 0 <= Checkpoint.maximumCursorBytes else {
      throw HandlerError(
        .checkpointRefused,
        "the checkpoint has \(commit.cursor?.count ?? 0) bytes and the limit is \(Checkpoint.maximumCursorBytes): "
          + "keep data in files or a database, and only the position in the checkpoint")
    }
    _ = try await ask(.commit(commit))
  }

  func freeze(_ items: [String], start: Int, isLast: Bool) async throws {
    _ = try await ask(.freeze(items, start: start, isLast: isLast))
  }

  func items(start: Int, count: Int) async throws -> [String] {
    guard case .items(let items) = try await ask(.items(start: start, count: count)) else { return [] }
    return items
  }

  func output(_ bytes: [UInt8]) { worker.say(.output(OutputChunk(launch: key, bytes: bytes))) }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    worker.say(
      .update(
        LaunchUpdate(
          launch: key, title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits)))
  }

  // MARK: Questions and answers

  /// Not cut short by cancellation: a batch that could finish within the closing window is committed.
  private func ask(_ question: Question) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      let isFirst = state.withLock { state in
        state.questions.append((question, continuation))
        return state.questions.count == 1
      }
      if isFirst { put(question) }
    }
  }

  private func put(_ question: Question) {
    let progress = progress
    worker.decide { core in
      switch question {
      case .commit(let commit):
        core.checkpoint(
          key,
          Checkpoint(
            launch: key, batch: progress.batches, cursor: commit.cursor ?? progress.cursor,
            completedUnits: commit.completedUnits, totalUnits: commit.totalUnits, subtitle: commit.subtitle,
            reachesEnd: commit.reachesEnd))
      case .freeze(let items, let start, let isLast):
        core.freeze(ItemPage(launch: key, start: start, items: items, isLast: isLast))
      case .items(let start, let count):
        core.wantItems(key, start: start, count: count)
      }
    }
  }

  func answered(_ result: Result<Answer, any Error>) {
    let (continuation, next) = state.withLock { state in
      guard !state.questions.isEmpty else {
        return (nil as CheckedContinuation<Answer, any Error>?, nil as Question?)
      }
      let (question, continuation) = state.questions.removeFirst()
      if case .success = result { state.settle(question) }
      return (continuation, state.questions.first?.question)
    }
    continuation?.resume(with: result)
    if let next { put(next) }
  }

  // MARK: Expiry

  /// Tells the handler why and until when; the first reason stays.
  func expire(_ reason: ExpiryReason, in window: Duration) {
    state.withLock { state in
      if state.expiry == nil { state.expiry = Expiry(reason: reason, deadline: .now + window) }
      return state.whenExpired.take()
    }?.resume()
  }

  /// Returns once the launch expires, or is over.
  func waitForExpiry() async {
    await withCheckedContinuation { continuation in
      let resumesAtOnce = state.withLock { state in
        if state.expiry != nil || state.isOver { return true }
        state.whenExpired = continuation
        return false
      }
      if resumesAtOnce { continuation.resume() }
    }
  }

  func close() {
    state.withLock { state in
      state.isOver = true
      return state.whenExpired.take()
    }?.resume()
  }
}

extension ActiveLaunch.State {
  /// What the store has confirmed is true from now on.
  fileprivate mutating func settle(_ question: ActiveLaunch.Question) {
    switch question {
    case .commit(let commit):
      progress = Progress(
        batches: progress.batches + 1, cursor: commit.cursor ?? progress.cursor,
        completedUnits: commit.completedUnits, totalUnits: commit.totalUnits)
    case .freeze(let items, let start, let isLast):
      if isLast { frozenItems = start + items.count }
    case .items: break
    }
  }
}
