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

  fileprivate struct Asked {
    let id: Int
    let question: Question
    /// Nil once nobody waits for the answer any more; it comes all the same, and the next question after it.
    var continuation: CheckedContinuation<Answer, any Error>?
  }

  fileprivate struct State {
    var progress: Progress
    var frozenItems: Int?
    var expiry: Expiry?
    /// Written and not yet sent.
    var output: [UInt8] = []
    /// The first one is asked, the others wait.
    var questions: [Asked] = []
    var lastID = 0
    var whenExpired: CheckedContinuation<Void, Never>?
    var isOver = false
    /// What a refresh said that it found.
    var result: RefreshResult?
    /// The span of the handler's run, from its start on.
    var span: RunSpan?
  }

  let key: LaunchKey
  /// What its log lines name it by.
  let subject: LaunchSubject
  private let worker: Worker
  private let state: Mutex<State>

  init(_ assignment: Assignment, worker: Worker) {
    key = assignment.launch
    subject = assignment.subject
    self.worker = worker
    state = Mutex(State(progress: assignment.progress, frozenItems: assignment.frozenItems))
  }

  // MARK: For the handler

  var expiry: Expiry? { state.withLock { $0.expiry } }
  var progress: Progress { state.withLock { $0.progress } }
  var frozenItems: Int? { state.withLock { $0.frozenItems } }

  func commit(_ commit: Commit) async throws {
    let (bytes, limit) = (commit.cursor?.count ?? 0, Checkpoint.maximumCursorBytes)
    guard bytes <= limit else { throw HandlerError.tooLarge(bytes: bytes, limit: limit) }
    _ = try await ask(.commit(commit))
  }

  func freeze(_ items: [String], start: Int, isLast: Bool) async throws {
    _ = try await askUntilCancelled(.freeze(items, start: start, isLast: isLast))
  }

  func items(start: Int, count: Int) async throws -> [String] {
    guard case .items(let items) = try await askUntilCancelled(.items(start: start, count: count)) else { return [] }
    return items
  }

  /// Waits here until the next tick, the last 64 KiB of it: a flood of output stands before nothing that matters.
  func output(_ bytes: [UInt8]) {
    state.withLock { state in
      state.output += bytes
      let surplus = state.output.count - OutputChunk.maximumKeptBytes
      if surplus > 0 { state.output.removeFirst(surplus) }
    }
  }

  /// What was written since the last time, nil if nothing was.
  func takeOutput() -> OutputChunk? {
    state.withLock { state in
      guard !state.output.isEmpty else { return nil }
      defer { state.output = [] }
      return OutputChunk(launch: key, bytes: state.output)
    }
  }

  /// The last word counts.
  func conclude(_ result: RefreshResult) { state.withLock { $0.result = result } }

  var result: RefreshResult? { state.withLock { $0.result } }

  /// The span of the handler's run; nil before the handler starts.
  var span: RunSpan? {
    get { state.withLock { $0.span } }
    set { state.withLock { $0.span = newValue } }
  }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    worker.say(
      .update(
        LaunchUpdate(
          launch: key, title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits)))
  }

  // MARK: Questions and answers

  /// Asked, or waiting for their turn.
  var openQuestions: Int { state.withLock { $0.questions.count } }

  /// Not cut short by cancellation: a batch that could finish within the closing window is committed.
  private func ask(_ question: Question) async throws -> Answer {
    let id = nextID()
    return try await withCheckedThrowingContinuation { append(question, id, $0) }
  }

  /// Ends with `CancellationError` when the launch expires: what is asked for would be of no use any more, and with the
  /// coordinator away the answer might come after the deadline.
  private func askUntilCancelled(_ question: Question) async throws -> Answer {
    let id = nextID()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
        append(question, id, continuation)
        if Task.isCancelled { giveUp(id) }
      }
    } onCancel: {
      giveUp(id)
    }
  }

  private func nextID() -> Int {
    state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
  }

  private func append(_ question: Question, _ id: Int, _ continuation: CheckedContinuation<Answer, any Error>) {
    let (isOver, isFirst) = state.withLock { state in
      if state.isOver { return (true, false) }
      state.questions.append(Asked(id: id, question: question, continuation: continuation))
      return (false, state.questions.count == 1)
    }
    if isOver { continuation.resume(throwing: HandlerError(.superseded, "the launch is over")) }
    if isFirst { put(question) }
  }

  private func giveUp(_ id: Int) {
    let continuation = state.withLock { state -> CheckedContinuation<Answer, any Error>? in
      guard let index = state.questions.firstIndex(where: { $0.id == id }) else { return nil }
      // The first one is asked already, and is answered before the next.
      return index == 0 ? state.questions[0].continuation.take() : state.questions.remove(at: index).continuation
    }
    continuation?.resume(throwing: CancellationError())
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
            reachesEnd: commit.reachesEnd, isEndOnly: commit.isEndOnly))
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
      let asked = state.questions.removeFirst()
      if case .success = result { state.settle(asked.question) }
      return (asked.continuation, state.questions.first?.question)
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

  /// The handler is through. What it left behind gets no answer any more.
  func close() {
    let (waiter, questions) = state.withLock { state in
      state.isOver = true
      defer { state.questions = [] }
      return (state.whenExpired.take(), state.questions)
    }
    waiter?.resume()
    for asked in questions {
      asked.continuation?.resume(throwing: HandlerError(.superseded, "the launch is over"))
    }
  }
}

extension ActiveLaunch.State {
  /// What the store has confirmed is true from now on.
  fileprivate mutating func settle(_ question: ActiveLaunch.Question) {
    switch question {
    case .commit(let commit):
      progress = Progress(
        batches: progress.batches + (commit.isEndOnly ? 0 : 1), cursor: commit.cursor ?? progress.cursor,
        completedUnits: commit.completedUnits, totalUnits: commit.totalUnits)
    case .freeze(let items, let start, let isLast):
      if isLast { frozenItems = start + items.count }
    case .items: break
    }
  }
}
