import BatonModel

/// Takes the place of the coordinator and its store for one launch: it saves the checkpoints, and computes when the
/// launch has stalled.
struct TestStore: Sendable {
  let launch: LaunchKey
  private let identifier: JobIdentifier
  private let definition: Definition
  /// How long the batches of the request take on the manual clock. A launch may be without progress for a multiple of
  /// that.
  private(set) var pace: Pace
  private(set) var checkpoints: [TestCheckpoint] = []
  private(set) var refused: [TestCheckpoint] = []
  private(set) var updates: [TestUpdate] = []
  /// The transfers that the saved checkpoints have added.
  private(set) var addedTransfers: [Transfer] = []
  /// The last result that the saved checkpoints have.
  private(set) var result: JobResult?
  /// What the launches of the request have submitted.
  private(set) var submissions: TestSubmissions
  /// Whether the next checkpoint is refused. It becomes `false` when a checkpoint has been refused.
  var refusesNext = false
  /// When the launch last made progress.
  private var progressAt: Duration
  private var savedAt: Duration
  private var reportedUnits: Int64?

  init(
    _ assignment: Assignment, _ definition: Definition, pace: Pace, submissions: TestSubmissions = TestSubmissions(),
    at now: Duration
  ) {
    (launch, identifier) = (assignment.launch, assignment.identifier)
    (self.definition, self.pace, self.submissions) = (definition, pace, submissions)
    (progressAt, savedAt) = (now, now)
  }

  /// Returns the coordinator's answer to a message; `nil` if the message needs no answer here.
  mutating func answer(to message: WorkerMessage, at now: Duration) -> CoordinatorMessage? {
    switch message {
    case .checkpoint(let checkpoint):
      if refusesNext {
        refusesNext = false
        return .refuse(launch, "the test refuses this checkpoint")
      }
      // A checkpoint that only has a result ends no batch.
      if !checkpoint.isEndOnly { checkpoints.append(taken(checkpoint, at: now)) }
      addedTransfers += checkpoint.transfers
      result = checkpoint.result ?? result
      pace.add(now - savedAt)
      (progressAt, savedAt) = (now, now)
      return .committed(launch, batch: checkpoint.batch)
    case .heartbeat(let number): return .heartbeatAnswered(number: number)
    case .submission(_, let submission):
      let answer = submissions.take(submission, by: launch.number, of: definition, identifier, at: now)
      return .submitted(launch, name: submission.name, answer)
    case .hello, .conditions, .items, .itemsWanted, .update, .output, .expiring, .overran, .ended, .draining,
      .transfers:
      return nil
    }
  }

  /// Records a checkpoint that this store or the worker's core has refused.
  mutating func noteRefused(_ checkpoint: Checkpoint, at now: Duration) { refused.append(taken(checkpoint, at: now)) }

  private func taken(_ checkpoint: Checkpoint, at now: Duration) -> TestCheckpoint {
    TestCheckpoint(
      launch: launch.number, batch: checkpoint.batch, completedUnits: checkpoint.completedUnits,
      totalUnits: checkpoint.totalUnits, savedAt: now, bytes: checkpoint.cursor ?? [], identifier: identifier)
  }

  /// Records an update. It counts as progress only if its number of completed units is new; texts alone do not.
  mutating func update(_ update: TestUpdate) {
    updates.append(update)
    guard let units = update.completedUnits, units != reportedUnits else { return }
    reportedUnits = units
    progressAt = update.at
  }

  /// When the launch expires `stalled` unless it makes progress before; `nil` if it is not watched for stalls. The
  /// launch is suspected after `stallAfter`, or after five times its usual batch if that is longer, and expires at
  /// twice that time (contract, row 32).
  var stallsAt: Duration? {
    Stall.suspicion(of: definition, usualBatch: pace.usualBatch, keepsCursor: true).map { progressAt + $0 * 2 }
  }
}
