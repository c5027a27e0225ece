import BatonHandler
import BatonModel

/// What the handler does.
extension LaunchMachine {
  enum Answer {
    case saved
    case refused(HandlerError)
    /// The handler would go on for ever.
    case endless(TestKitError)
  }

  /// More than a test needs, and less than what fills its memory.
  static let maximumBatches = 100_000
  static let maximumRefusals = 1_000
  static let maximumSleeps = 10_000

  mutating func commit(_ commit: Commit, at now: Duration) -> (Answer, Effect?) {
    if let problem = endlessness { return (.endless(problem), nil) }
    let checkpoint = checkpoint(commit, at: now)
    if let refusal = refusal(of: commit) {
      log.refused.append(checkpoint)
      return (.refused(refusal), nil)
    }
    save(checkpoint, commit, at: now)
    let effect = reachBoundary(at: now)
    // A worker that was lost just now never hears that its checkpoint was saved.
    if case .cutOff = phase { return (.refused(Self.isOver), effect) }
    return (.saved, effect)
  }

  private func checkpoint(_ commit: Commit, at now: Duration) -> TestCheckpoint {
    TestCheckpoint(
      launch: number, batch: standing.progress.batches, completedUnits: commit.completedUnits,
      totalUnits: commit.totalUnits, savedAt: now, bytes: commit.cursor ?? standing.progress.cursor ?? [],
      identifier: identifier)
  }

  private mutating func refusal(of commit: Commit) -> HandlerError? {
    switch phase {
    case .cutOff: return Self.isOver
    case .expiring(.superseded, _): return HandlerError(.superseded, "another launch of this request is live")
    case .expiring(.leaseLost, _): return HandlerError(.superseded, "the worker lost its lease: nothing is saved here")
    case .running, .expiring: break
    }
    if let count = commit.cursor?.count, count > Checkpoint.maximumCursorBytes {
      return .tooLarge(bytes: count, limit: Checkpoint.maximumCursorBytes)
    }
    return takeRefusal() ? HandlerError(.checkpointRefused, "the test refuses this checkpoint") : nil
  }

  private static let isOver = HandlerError(.superseded, "the launch is over")

  private mutating func save(_ checkpoint: TestCheckpoint, _ commit: Commit, at now: Duration) {
    log.checkpoints.append(checkpoint)
    standing.pace.add(now - (log.checkpoints.dropLast().last?.savedAt ?? startedAt))
    standing.progress = Progress(
      batches: standing.progress.batches + 1, cursor: checkpoint.bytes, completedUnits: commit.completedUnits,
      totalUnits: commit.totalUnits)
    gotFurther(at: now)
  }

  private var endlessness: TestKitError? {
    if log.refused.count >= Self.maximumRefusals {
      return TestKitError(
        .endless,
        "launch \(number) of \(identifier) asked to save \(Self.maximumRefusals) times more after it was told that it "
          + "cannot: a handler has to end when 'checkpoint' throws")
    }
    guard log.checkpoints.count >= Self.maximumBatches else { return nil }
    return TestKitError(
      .endless, "launch \(number) of \(identifier) committed \(Self.maximumBatches) batches and does not end")
  }

  /// A loop that swallows the error of a sleep that is cut short never sleeps again, and never ends.
  mutating func slept() -> TestKitError? {
    guard log.expiry != nil else { return nil }
    log.sleepsAfterExpiry += 1
    guard log.sleepsAfterExpiry > Self.maximumSleeps else { return nil }
    return TestKitError(
      .endless,
      "launch \(number) of \(identifier) went to sleep \(Self.maximumSleeps) times after it was asked to stop: a "
        + "handler has to end when a sleep throws")
  }

  /// Texts alone are no progress.
  mutating func update(_ update: TestUpdate) {
    if case .cutOff = phase { return }
    log.updates.append(update)
    guard let units = update.completedUnits, units != log.reportedUnits else { return }
    log.reportedUnits = units
    gotFurther(at: update.at)
  }

  mutating func conclude(_ result: RefreshResult) { log.result = result }

  /// - Parameter result: what the handler did; nil if it never ended.
  func ended(_ result: Result<Void, any Error>?, at now: Duration) -> TestLaunch {
    TestLaunch(
      number: number, outcome: outcome(result), error: result.flatMap(\.failure), expiry: log.expiry,
      ignoredExpiry: hasIgnoredExpiry, checkpoints: log.checkpoints, refusedCheckpoints: log.refused,
      updates: log.updates, result: log.result, startedAt: startedAt, endedAt: now,
      batchesAfterExpiry: batchesAfterExpiry, points: log.points)
  }

  private func outcome(_ result: Result<Void, any Error>?) -> TestLaunch.Outcome {
    switch (phase, result) {
    case (.cutOff, _), (_, nil): .lost
    case (_, .success): log.result == .failed ? .failed("the refresh returned .failed") : .finished
    case (.expiring(let reason, _), .failure): .expired(reason)
    case (.running, .failure(let error)): .failed(String(describing: error))
    }
  }

  private var hasIgnoredExpiry: Bool { if case .cutOff(.ignoredExpiry) = phase { true } else { false } }

  private var batchesAfterExpiry: Int { log.checkpoints.count { $0.batch >= log.firstBatchAfterExpiry } }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
