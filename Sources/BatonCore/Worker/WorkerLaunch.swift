package import BatonModel

/// One launch on its worker, from its assignment until the coordinator has its ending.
///
/// This is the only place where a worker keeps what it knows of a launch. `WorkerCore` brings the facts and passes on what
/// follows from them; the shell (`ActiveLaunch`) keeps the continuations of the handler's questions, and asks here for
/// everything else.
///
///     running ──expire──> closing ──deadline──> overrun
///        └───────────────────┴──handler ends──────┴──> ended ──committed──> forgotten
package struct WorkerLaunch: Hashable, Sendable {
  package enum Life: Hashable, Sendable {
    /// The handler runs.
    case running(Dialogue)
    /// The handler was asked to stop. Until the deadline it may commit what it has.
    case closing(ClosingWindow, Dialogue)
    /// The handler still ran at the deadline.
    case overrun(ClosingWindow, Dialogue)
    /// The handler is through. The worker says so until the coordinator has committed the ending.
    case ended(Ending)
  }

  /// What the coordinator gave, with the progress and the frozen items that it has confirmed since.
  package private(set) var assignment: Assignment
  package let definition: Definition
  package let startedAt: Instant
  package private(set) var life = Life.running(Dialogue())

  init(_ assignment: Assignment, _ definition: Definition, at now: Instant) {
    self.assignment = assignment
    self.definition = definition
    startedAt = now
  }

  package var key: LaunchKey { assignment.launch }

  /// How long a handler that waited for an answer at its deadline has to return. With `WorkerCore.partingMoment` and two
  /// ticks it makes less than the second within which the process of a handler that ignores its deadline is gone.
  package static let lastMoment = Duration.milliseconds(500)
}

/// The order to stop, as it stands: why, and until when.
package struct ClosingWindow: Hashable, Sendable {
  package var reason: ExpiryReason
  package var deadline: Instant

  package init(_ reason: ExpiryReason, until deadline: Instant) {
    self.reason = reason
    self.deadline = deadline
  }
}

/// What a handler asks of the coordinator. One question is asked at a time; the others wait for their turn.
package struct Dialogue: Hashable, Sendable {
  package enum Question: Hashable, Sendable {
    /// The answer is `done` once the checkpoint is durable.
    case commit(Commit)
    /// A page of the items that the first launch found. The answer is `done` once the page is durable.
    case freeze([String], start: Int, isLast: Bool)
    /// The answer is `items`.
    case items(start: Int, count: Int)
  }

  package enum Answer: Hashable, Sendable {
    case done
    case items([String])
    /// What was asked for will not come: another launch is live or this one is over, or else the store refused it.
    case refused(String, isSuperseded: Bool)
  }

  struct Open: Hashable, Sendable {
    let id: Int
    let question: Question
  }

  /// The first one is being asked if `unanswered` is set.
  fileprivate(set) var questions: [Open] = []
  /// What was sent for the first question; it is sent again after each welcome until it is answered.
  fileprivate(set) var unanswered: WorkerMessage?
  /// No answer comes any more, so nothing may be asked.
  fileprivate(set) var isCutOff = false
  /// What a refresh said that it found; the last word counts.
  package fileprivate(set) var result: RefreshResult?
}

/// How a handler came to its end. What that makes of the launch, `WorkerLaunch.ending(of:)` says.
package enum HandlerEnd: Hashable, Sendable {
  case finished
  /// - errorType: what kind of error it was, of few values.
  case failed(String, errorType: String? = nil)
  /// It stopped because it was told to, by the launch's expiry or from outside.
  case stopped(isGraceful: Bool = true)
}

// MARK: What the launch is

extension WorkerLaunch {
  package var hasEnded: Bool { if case .ended = life { true } else { false } }

  package var isRunning: Bool { if case .running = life { true } else { false } }

  /// Why the handler was asked to stop, and until when; nil if it was not, and once it is through.
  package var expiry: ClosingWindow? {
    switch life {
    case .running, .ended: nil
    case .closing(let window, _), .overrun(let window, _): window
    }
  }

  /// Another launch of the request is live: this one can save nothing, and says nothing at its end.
  package var isSuperseded: Bool { expiry?.reason == .superseded }

  /// When time alone changes what becomes of the launch: its budget is spent, or its deadline comes.
  package var dueAt: Instant? {
    switch life {
    case .running: definition.budget(keepsCursor: assignment.progress.batches > 0).map { startedAt + $0 }
    case .closing(let window, _): window.deadline
    case .overrun, .ended: nil
    }
  }

  /// What is said of the launch after a welcome, besides what it asks.
  /// - Parameter processEnds: a handler ignored its deadline, and the process goes with it.
  func news(processEnds: Bool) -> WorkerMessage? {
    switch life {
    case .running: nil
    case .overrun(let window, _) where processEnds: .overran(key, window.reason)
    case .closing(let window, _), .overrun(let window, _): .expiring(key, window.reason)
    case .ended(let ending): .ended(ending)
    }
  }

  /// What the end of the handler makes of the launch. After an expiry returning is still completion, and everything else
  /// is the expiry.
  package func ending(of end: HandlerEnd) -> Ending {
    var ending = Ending(launch: key, outcome: .lost, result: dialogue.result)
    switch (end, expiry) {
    case (.finished, _): ending.outcome = .finished
    case (.failed, let window?), (.stopped, let window?): ending.outcome = .expired(window.reason)
    case (.failed(let text, let errorType), nil): (ending.outcome, ending.errorType) = (.failed(text), errorType)
    case (.stopped, nil): ending.outcome = .lost
    }
    if case .stopped(isGraceful: false) = end { ending.isGraceful = false }
    // Its process ends for it.
    if case .overrun = life, definition.work == nil { ending.isGraceful = false }
    return ending
  }
}

// MARK: From start to end

extension WorkerLaunch {
  /// - Returns: the closing window if it begins now; nil if the launch was asked to stop before. The first reason wins:
  ///   one launch, one cause. Only `superseded` replaces it, because nothing can be saved any more.
  mutating func expire(_ reason: ExpiryReason, at now: Instant) -> ClosingWindow? {
    switch life {
    case .running(let dialogue):
      let window = ClosingWindow(reason, until: now + reason.closingWindow(of: definition))
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

  /// The deadline has come. A handler that waits for an answer ignores nothing, the coordinator is away: it waits no
  /// longer, and has `lastMoment` to return, so that its process need not end for that.
  mutating func reachDeadline(at now: Instant) -> [WorkerCore.Effect] {
    guard case .closing(let window, let dialogue) = life, window.deadline <= now else { return [] }
    guard dialogue.unanswered != nil else {
      life = .overrun(window, dialogue)
      return [.overrun(key)]
    }
    life = .closing(ClosingWindow(window.reason, until: now + Self.lastMoment), dialogue)
    return cutOff("no answer came before the launch had to end")
  }

  /// The handler is through. What it left behind gets no answer.
  mutating func end(_ ending: Ending) -> [WorkerCore.Effect] {
    defer { life = .ended(ending) }
    return refuseAll(Self.isOver)
  }

  mutating func conclude(_ result: RefreshResult) { dialogue.result = result }
}

// MARK: Questions and answers

extension WorkerLaunch {
  /// The handler's questions; none once it is through.
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

  /// Takes a question, or says why it may not be asked.
  mutating func ask(_ question: Dialogue.Question, id: Int) -> Dialogue.Answer? {
    if hasEnded || dialogue.isCutOff { return .refused(Self.isOver, isSuperseded: true) }
    if isSuperseded { return .refused("another launch of this request is live", isSuperseded: true) }
    if case .commit(let commit) = question, let refusal = commit.refusal { return refusal }
    dialogue.questions.append(Dialogue.Open(id: id, question: question))
    return nil
  }

  /// The handler does not wait for the answer any more. A question that is being asked is answered all the same, before
  /// the next one is asked; one that waits is never asked.
  mutating func giveUp(_ id: Int) {
    let asked = dialogue.unanswered == nil ? nil : dialogue.questions.first?.id
    if id != asked { dialogue.questions.removeAll { $0.id == id } }
  }

  /// The message of the first question, if it is to be asked now.
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
    }
  }

  /// The checkpoint of this batch is durable.
  mutating func committed(_ batch: Int) -> [WorkerCore.Effect] {
    guard case .checkpoint(let checkpoint)? = dialogue.unanswered, checkpoint.batch == batch else { return [] }
    assignment.progress = Progress(after: checkpoint)
    return answered(.done)
  }

  /// The items are durable below `count`. It answers a page only if all of the page is.
  mutating func itemsCommitted(_ count: Int, isFrozen: Bool) -> [WorkerCore.Effect] {
    if isFrozen { assignment.frozenItems = count }
    guard case .items(let page)? = dialogue.unanswered,
      isFrozen || (count >= page.start + page.items.count && !page.isLast)
    else { return [] }
    return answered(.done)
  }

  /// Only items that were asked for: an answer that comes late or twice must not stand for the items of another batch.
  mutating func found(_ page: ItemPage) -> [WorkerCore.Effect] {
    guard case .itemsWanted(_, page.start, let count)? = dialogue.unanswered, page.items.count <= count else {
      return []
    }
    return answered(.items(page.items))
  }

  /// The store refused what is being asked.
  mutating func refused(_ text: String) -> [WorkerCore.Effect] { answered(.refused(text, isSuperseded: false)) }

  private mutating func answered(_ answer: Dialogue.Answer) -> [WorkerCore.Effect] {
    guard dialogue.unanswered != nil else { return [] }
    dialogue.unanswered = nil
    return [.answered(key, question: dialogue.questions.removeFirst().id, answer)]
  }

  /// No answer comes to what was asked, and nothing may be asked from here on.
  mutating func cutOff(_ text: String) -> [WorkerCore.Effect] {
    dialogue.isCutOff = true
    return refuseAll(text)
  }

  /// Answers all that was asked, and what waits to be asked.
  mutating func refuseAll(_ text: String) -> [WorkerCore.Effect] {
    defer { (dialogue.questions, dialogue.unanswered) = ([], nil) }
    return dialogue.questions.map { .answered(key, question: $0.id, .refused(text, isSuperseded: true)) }
  }
}

extension Commit {
  /// Why no store takes it.
  fileprivate var refusal: Dialogue.Answer? {
    let (bytes, limit) = (cursor?.count ?? 0, Checkpoint.maximumCursorBytes)
    guard bytes > limit else { return nil }
    return .refused(
      "the checkpoint has \(bytes) bytes and the limit is \(limit): keep data in files or a database, and only the "
        + "position in the checkpoint", isSuperseded: false)
  }
}
