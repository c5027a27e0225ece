import BatonModel

/// What a coordinator and its store are for one launch: they take its checkpoints, and watch whether it gets further.
struct TestStore: Sendable {
  let launch: LaunchKey
  private let identifier: JobIdentifier
  private let definition: Definition
  /// How long batches take on the manual clock, which decides when a launch has stalled.
  private(set) var pace: Pace
  private(set) var checkpoints: [TestCheckpoint] = []
  private(set) var refused: [TestCheckpoint] = []
  private(set) var updates: [TestUpdate] = []
  /// The next checkpoint is refused; false again once it was.
  var refusesNext = false
  /// When the launch last got further.
  private var progressAt: Duration
  private var savedAt: Duration
  private var reportedUnits: Int64?

  init(_ assignment: Assignment, _ definition: Definition, pace: Pace, at now: Duration) {
    (launch, identifier) = (assignment.launch, assignment.identifier)
    (self.definition, self.pace) = (definition, pace)
    (progressAt, savedAt) = (now, now)
  }

  mutating func answer(to message: WorkerMessage, at now: Duration) -> CoordinatorMessage? {
    switch message {
    case .checkpoint(let checkpoint):
      if refusesNext {
        refusesNext = false
        return .refuse(launch, "the test refuses this checkpoint")
      }
      checkpoints.append(taken(checkpoint, at: now))
      pace.add(now - savedAt)
      (progressAt, savedAt) = (now, now)
      return .committed(launch, batch: checkpoint.batch)
    case .heartbeat(let number): return .heartbeatAnswered(number: number)
    case .hello, .conditions, .items, .itemsWanted, .update, .output, .expiring, .overran, .ended, .draining: return nil
    }
  }

  /// Refused here, or by the worker itself.
  mutating func noteRefused(_ checkpoint: Checkpoint, at now: Duration) { refused.append(taken(checkpoint, at: now)) }

  private func taken(_ checkpoint: Checkpoint, at now: Duration) -> TestCheckpoint {
    TestCheckpoint(
      launch: launch.number, batch: checkpoint.batch, completedUnits: checkpoint.completedUnits,
      totalUnits: checkpoint.totalUnits, savedAt: now, bytes: checkpoint.cursor ?? [], identifier: identifier)
  }

  /// Texts alone are no progress.
  mutating func update(_ update: TestUpdate) {
    updates.append(update)
    guard let units = update.completedUnits, units != reportedUnits else { return }
    reportedUnits = units
    progressAt = update.at
  }

  /// Suspected after `stallAfter`, or five usual batches; expired at twice that (contract, row 32).
  var stallsAt: Duration? {
    Stall.suspicion(of: definition, usualBatch: pace.usualBatch, keepsCursor: true).map { progressAt + $0 * 2 }
  }
}
