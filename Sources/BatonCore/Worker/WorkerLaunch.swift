package import BatonModel

/// A launch on its worker, from its assignment until the coordinator has stored its ending.
///
/// This value is all that a worker knows about a launch. `WorkerCore` calls it with facts and passes on the effects.
/// The shell (`ActiveLaunch`) keeps only the continuations of the handler's questions, and reads everything else here.
///
/// The life of a launch:
///
///     running ──expire──> closing ──deadline──> overrun
///        └───────────────────┴──handler ends──────┴──> ended ──committed──> forgotten
package struct WorkerLaunch: Hashable, Sendable {
  package enum Life: Hashable, Sendable {
    /// The handler runs.
    case running(Dialogue)
    /// The handler was asked to stop. Until the deadline it may commit its batch.
    case closing(ClosingWindow, Dialogue)
    /// The handler was still running at the deadline, and has not ended yet.
    case overrun(ClosingWindow, Dialogue)
    /// The handler has ended. The worker sends the ending after each welcome until the coordinator has stored it.
    case ended(Ending)
  }

  /// The coordinator's assignment. Its progress and its number of frozen items are updated with each confirmation.
  package private(set) var assignment: Assignment
  package let definition: Definition
  package let startedAt: Instant
  package private(set) var life = Life.running(Dialogue())
  /// The checkpoint that is sent together with the ending, and before it; `nil` if the launch has saved its last one.
  private var lastCheckpoint: Checkpoint?
  /// When the batch that is under way began: at the start of the launch, or with the last answer of the coordinator
  /// that made something durable.
  private var batchBeganAt: Instant
  /// The number of the batch that took longer than it may; `nil` if none did.
  private var lateBatch: Int?

  init(_ assignment: Assignment, _ definition: Definition, at now: Instant) {
    self.assignment = assignment
    self.definition = definition
    startedAt = now
    batchBeganAt = now
  }

  package var key: LaunchKey { assignment.launch }

  /// How long a handler that waited for an answer at its deadline has to return. This time, `WorkerCore.partingMoment`
  /// and two ticks make less than a second: the process of a handler that ignores its deadline has to end within that
  /// second.
  package static let lastMoment = Duration.milliseconds(500)
}

/// The reason of an expiry and its deadline, on the worker's monotonic clock.
package struct ClosingWindow: Hashable, Sendable {
  package var reason: ExpiryReason
  package var deadline: Instant

  package init(_ reason: ExpiryReason, until deadline: Instant) {
    self.reason = reason
    self.deadline = deadline
  }
}

/// The questions of a handler to the coordinator. One question is asked at a time; the others wait in a queue.
package struct Dialogue: Hashable, Sendable {
  package enum Question: Hashable, Sendable {
    /// Save a checkpoint. The answer is `done` when the checkpoint is durable.
    case commit(Commit)
    /// Save a page of the items that the first launch has found. The answer is `done` when the page is durable.
    case freeze([String], start: Int, isLast: Bool)
    /// Read `count` items from `start` on. The answer is `items`.
    case items(start: Int, count: Int)
    /// Submit a request. The answer is `submitted`.
    case submit(LaunchSubmission)
  }

  package enum Answer: Hashable, Sendable {
    case done
    case items([String])
    case submitted(LaunchSubmissionAnswer)
    /// The question was refused; the text says why. `isSuperseded` is `true` if this launch can save nothing more, and
    /// `false` if only this question was refused.
    case refused(String, isSuperseded: Bool)
  }

  struct Open: Hashable, Sendable {
    let id: Int
    let question: Question
  }

  /// The open questions in order. If `unanswered` is set, the first one has been sent.
  fileprivate(set) var questions: [Open] = []
  /// The message for the first question, after it was sent. It is sent again after each welcome until it is answered.
  fileprivate(set) var unanswered: WorkerMessage?
  /// `true` when no answers come any more. Every further question is refused.
  fileprivate(set) var isCutOff = false
  /// What a refresh found; the last call of `conclude` counts.
  package fileprivate(set) var result: RefreshResult?
  /// What is saved when the handler returns.
  fileprivate(set) var last: Commit?
}

/// How a handler ended. `WorkerLaunch.ending(of:)` decides what that means for the launch.
package enum HandlerEnd: Hashable, Sendable {
  /// The handler returned.
  case finished
  /// The handler threw an error. The text describes the error; `errorType` names its kind, and has few different
  /// values.
  case failed(String, errorType: String? = nil)
  /// The handler stopped because it was told to, by the launch's expiry or from outside. `isGraceful` is `false` if it
  /// had to be killed.
  case stopped(isGraceful: Bool = true)
}

// MARK: Reading

extension WorkerLaunch {
  package var hasEnded: Bool { if case .ended = life { true } else { false } }

  package var isRunning: Bool { if case .running = life { true } else { false } }

  /// The reason and the deadline of the expiry; `nil` if the handler was not asked to stop, and after it has ended.
  package var expiry: ClosingWindow? {
    switch life {
    case .running, .ended: nil
    case .closing(let window, _), .overrun(let window, _): window
    }
  }

  /// Whether another launch of the request is live. This launch can then save nothing, and its ending is not sent.
  package var isSuperseded: Bool { expiry?.reason == .superseded }

  /// When the budget or the batch's time of a running launch is over, or the deadline of a closing one comes; `nil` if
  /// nothing of this can happen.
  package var dueAt: Instant? {
    switch life {
    case .running: [budgetSpentAt, batchTimesOutAt].compactMap(\.self).min()
    case .closing(let window, _): window.deadline
    case .overrun, .ended: nil
    }
  }

  private var budgetSpentAt: Instant? {
    definition.budget(keepsCursor: assignment.progress.batches > 0).map { startedAt + $0 }
  }

  /// When the batch takes too long; `nil` if there is no limit, or while the handler waits for the coordinator, which
  /// may be away.
  private var batchTimesOutAt: Instant? {
    dialogue.questions.isEmpty ? definition.batchTimeout.map { batchBeganAt + $0 } : nil
  }

  /// Why a running launch has to stop now; `nil` if its time is not over.
  package func expiryDue(at now: Instant) -> ExpiryReason? {
    if let time = budgetSpentAt, time <= now { return .budgetSpent }
    if let time = batchTimesOutAt, time <= now { return .batchTimedOut }
    return nil
  }

  /// Returns the messages about the launch that are sent after a welcome, besides its open question; none for a launch
  /// that simply runs.
  /// - Parameter processEnds: whether the process is about to end because a handler ignored its deadline.
  func news(processEnds: Bool) -> [WorkerMessage] {
    switch life {
    case .running: []
    case .overrun(let window, _) where processEnds: [.overran(key, window.reason)]
    case .closing(let window, _), .overrun(let window, _): [.expiring(key, window.reason)]
    case .ended(let ending): (lastCheckpoint.map { [.checkpoint($0)] } ?? []) + [.ended(ending)]
    }
  }

  /// Returns the ending of the launch for an end of its handler. If the handler returned, the launch has finished, also
  /// after an expiry. Every other end after an expiry is the outcome `expired`, except that a launch whose batch took
  /// too long has failed if the batch was not committed after all.
  package func ending(of end: HandlerEnd) -> Ending {
    var ending = Ending(launch: key, outcome: .lost, result: dialogue.result)
    switch (end, expiry) {
    case (.finished, _): ending.outcome = .finished
    case (_, let window?) where window.reason == .batchTimedOut && lateBatch == assignment.progress.batches:
      (ending.outcome, ending.errorType) = (.failed(lateText), FailureKind.timedOut.rawValue)
    case (.failed, let window?), (.stopped, let window?): ending.outcome = .expired(window.reason)
    case (.failed(let text, let errorType), nil): (ending.outcome, ending.errorType) = (.failed(text), errorType)
    case (.stopped, nil): ending.outcome = .lost
    }
    if case .stopped(isGraceful: false) = end { ending.isGraceful = false }
    // A Swift handler that ends after its deadline was not graceful: its process ends because of it.
    if case .overrun = life, definition.work == nil { ending.isGraceful = false }
    return ending
  }

  private var lateText: String {
    let limit = definition.batchTimeout.map { " (\($0.inWords))" } ?? ""
    return "batch \(assignment.progress.batches) took longer than 'batchTimeout'\(limit)"
  }
}

// MARK: From start to end

extension WorkerLaunch {
  /// Asks the launch to stop. The first reason wins, so that each launch has one cause. Only `superseded` replaces an
  /// earlier reason, because from then on the launch can save nothing. The deadline stays the same.
  /// - Returns: the closing window if it begins now; `nil` if the launch had been asked to stop before, or has ended.
  mutating func expire(_ reason: ExpiryReason, at now: Instant) -> ClosingWindow? {
    switch life {
    case .running(let dialogue):
      let window = ClosingWindow(reason, until: now + reason.closingWindow(of: definition))
      if reason == .batchTimedOut { lateBatch = assignment.progress.batches }
      life = .closing(window, dialogue)
      return window
    case .closing(let window, let dialogue) where reason == .superseded:
      life = .closing(ClosingWindow(.superseded, until: window.deadline), dialogue)
    case .overrun(let window, let dialogue) where reason == .superseded:
      life = .overrun(ClosingWindow(.superseded, until: window.deadline), dialogue)
    case .closing, .overrun, .ended: break
    }
    return nil
  }

  /// Handles the deadline if it has come. A handler that waits for an answer does not ignore its expiry: the
  /// coordinator is away. Its questions are refused, and it gets `lastMoment` to return, so that the process does not
  /// have to end. For any other handler this is an overrun.
  mutating func reachDeadline(at now: Instant) -> [WorkerCore.Effect] {
    guard case .closing(let window, let dialogue) = life, window.deadline <= now else { return [] }
    guard dialogue.unanswered != nil else {
      life = .overrun(window, dialogue)
      return [.overrun(key)]
    }
    life = .closing(ClosingWindow(window.reason, until: now + Self.lastMoment), dialogue)
    return cutOff("no answer came before the launch had to end")
  }

  /// Ends the launch. Questions that are still open, from tasks that the handler left behind, are refused.
  mutating func end(_ ending: Ending) -> [WorkerCore.Effect] {
    if ending.outcome == .finished {
      lastCheckpoint = dialogue.last.map { Checkpoint($0, of: key, after: assignment.progress) }
    }
    defer { life = .ended(ending) }
    return refuseAll(Self.isOver)
  }

  mutating func conclude(_ result: RefreshResult) { dialogue.result = result }

  /// - Returns: a refusal if this cannot be saved; otherwise `nil`.
  mutating func conclude(with commit: Commit) -> Dialogue.Answer? {
    if hasEnded || dialogue.isCutOff { return .refused(Self.isOver, isSuperseded: true) }
    if let refusal = commit.refusal { return refusal }
    dialogue.last = commit
    return nil
  }
}

// MARK: Questions and answers

extension WorkerLaunch {
  /// The handler's questions and its result; empty after the handler has ended.
  package private(set) var dialogue: Dialogue {
    get {
      switch life {
      case .running(let dialogue), .closing(_, let dialogue), .overrun(_, let dialogue): dialogue
      case .ended: Dialogue()
      }
    }
    set {
      switch life {
      case .running: life = .running(newValue)
      case .closing(let window, _): life = .closing(window, newValue)
      case .overrun(let window, _): life = .overrun(window, newValue)
      case .ended: break
      }
    }
  }

  static let isOver = "the launch is over"

  /// Adds a question to the queue.
  /// - Returns: a refusal if the question cannot be asked; otherwise `nil`.
  mutating func ask(_ question: Dialogue.Question, id: Int) -> Dialogue.Answer? {
    if hasEnded || dialogue.isCutOff { return .refused(Self.isOver, isSuperseded: true) }
    if isSuperseded { return .refused("another launch of this request is live", isSuperseded: true) }
    if case .commit(let commit) = question, let refusal = commit.refusal { return refusal }
    if case .submit(let submission) = question, let problem = submission.problem {
      return .refused(problem, isSuperseded: false)
    }
    dialogue.questions.append(Dialogue.Open(id: id, question: question))
    return nil
  }

  /// The handler no longer waits for the answer to this question. If the question was sent, it stays first until its
  /// answer comes, and the next question is sent after that. If it was not sent, it is removed.
  mutating func giveUp(_ id: Int) {
    let asked = dialogue.unanswered == nil ? nil : dialogue.questions.first?.id
    if id != asked { dialogue.questions.removeAll { $0.id == id } }
  }

  /// Returns the message of the first question and marks it as sent; `nil` if there is no question, or if one was sent
  /// and has no answer yet.
  mutating func askNext() -> WorkerMessage? {
    guard dialogue.unanswered == nil, let question = dialogue.questions.first?.question else { return nil }
    dialogue.unanswered = message(of: question)
    return dialogue.unanswered
  }

  private func message(of question: Dialogue.Question) -> WorkerMessage {
    switch question {
    case .commit(let commit): .checkpoint(Checkpoint(commit, of: key, after: assignment.progress))
    case .freeze(let items, let start, let isLast):
      .items(ItemPage(launch: key, start: start, items: items, isLast: isLast))
    case .items(let start, let count): .itemsWanted(key, start: start, count: count)
    case .submit(let submission): .submission(key, submission)
    }
  }

  /// The checkpoint of this batch is durable.
  /// - Parameter end: the end of the shard now. A split may have made it smaller, never beyond the next batch.
  mutating func committed(_ batch: Int, end: Int64?, at now: Instant) -> [WorkerCore.Effect] {
    guard case .checkpoint(let checkpoint)? = dialogue.unanswered, checkpoint.batch == batch else { return [] }
    if let end { assignment.shard?.end = end }
    assignment.progress = Progress(after: checkpoint)
    batchBeganAt = now
    return answered(.done)
  }

  /// All items below `count` are durable. The question about a page is answered only if this includes the whole page.
  /// - Parameter end: the end of the launch's shard, if the items were cut into shards.
  mutating func itemsCommitted(_ count: Int, isFrozen: Bool, end: Int64?, at now: Instant) -> [WorkerCore.Effect] {
    if isFrozen { assignment.frozenItems = count }
    batchBeganAt = now
    if let end { assignment.shard?.end = end }
    guard case .items(let page)? = dialogue.unanswered,
      isFrozen || (count >= page.start + page.items.count && !page.isLast)
    else { return [] }
    return answered(.done)
  }

  /// A page of items has arrived. It is accepted only if it answers the question that was sent: an answer that comes
  /// late or twice must not be taken for the items of another batch.
  mutating func found(_ page: ItemPage) -> [WorkerCore.Effect] {
    guard case .itemsWanted(_, page.start, let count)? = dialogue.unanswered, page.items.count <= count else {
      return []
    }
    return answered(.items(page.items))
  }

  /// The submission with this name is stored, or was refused.
  mutating func submitted(_ name: String, _ answer: LaunchSubmissionAnswer) -> [WorkerCore.Effect] {
    guard case .submission(_, let submission)? = dialogue.unanswered, submission.name == name else { return [] }
    return answered(.submitted(answer))
  }

  /// The store has refused the question that was sent.
  mutating func refused(_ text: String) -> [WorkerCore.Effect] { answered(.refused(text, isSuperseded: false)) }

  private mutating func answered(_ answer: Dialogue.Answer) -> [WorkerCore.Effect] {
    guard dialogue.unanswered != nil else { return [] }
    dialogue.unanswered = nil
    return [.answered(key, question: dialogue.questions.removeFirst().id, answer)]
  }

  /// Refuses all open questions and all later ones.
  /// - Parameter text: why no answers come.
  mutating func cutOff(_ text: String) -> [WorkerCore.Effect] {
    dialogue.isCutOff = true
    return refuseAll(text)
  }

  /// Refuses all open questions, those that were not sent included. Later questions may be asked.
  mutating func refuseAll(_ text: String) -> [WorkerCore.Effect] {
    defer { (dialogue.questions, dialogue.unanswered) = ([], nil) }
    return dialogue.questions.map { .answered(key, question: $0.id, .refused(text, isSuperseded: true)) }
  }
}

extension Commit {
  /// The refusal of a checkpoint that is too large for any store; `nil` if its size is within the limit.
  fileprivate var refusal: Dialogue.Answer? {
    let (bytes, limit) = (cursor?.count ?? 0, Checkpoint.maximumCursorBytes)
    guard bytes > limit else { return nil }
    return .refused(
      "the checkpoint has \(bytes) bytes and the limit is \(limit): keep data in files or a database, and only the "
        + "position in the checkpoint", isSuperseded: false)
  }
}
