import BatonCoordinator
import BatonCore
import BatonModel
import BatonStore

/// What clients, handlers and the disk saw, written down outside the store, and the promises checked against it at
/// every step.
final class Journal {
  struct Request {
    var identifier: JobIdentifier
    var definition: Definition
    /// Batches that are in the store, by the commits that were seen.
    var committed = 0
    /// Batches whose commit a handler was told of.
    var acknowledged = 0
    /// Skipped by nobody, begun by somebody: batches below this.
    var begun = 0
    var reachedEnd = false
    var launches = 0
    var open: LaunchKey?
    /// When the last launch ended, and how long nothing of it may start after that.
    var restsUntil: Moments?
    var failures = 0
    var losses = 0
    var hasEnded = false
  }

  /// The same time on the steady clock, and since the beginning.
  struct Moments {
    var steady: Timestamp
    var elapsed: Duration
  }

  struct Launch {
    var host: HostName
    var incarnation: Incarnation
    var gpus: [Int]
    var spanID: [UInt8]
    var isSimulated: Bool
    var startedSteady: Timestamp
    var firstBatch: Int
    /// Batches that its handler began, and those whose commit it was told of.
    var begun = 0
    var acknowledged = 0
    /// The store's word when it ended; nil while it is open.
    var outcome: LaunchOutcome?
    var endedAt: Duration?
    /// Why it was asked to stop first, and when.
    var asked: (reason: ExpiryReason, at: Duration)?
    /// What its handler said first.
    var said: HandlerEnd?
  }

  /// What an operator said and did not take back.
  struct Wish {
    /// Nil for all.
    var host: HostName?
    var pattern: IdentifierPattern?
    var since: Duration
    var text: String { "\(pattern.map { "\($0)" } ?? "everything") off \(host.map { "\($0)" } ?? "the fleet")" }

    func concerns(_ name: HostName, _ identifier: JobIdentifier) -> Bool {
      host ?? name == name && pattern?.matches(identifier) ?? true
    }
  }

  let schedule: Schedule
  private(set) var wishes: [Wish] = []
  var requests: [RequestID: Request] = [:]
  var launches: [LaunchKey: Launch] = [:]
  /// By the id of the submission.
  var receipts: [String: (request: RequestID, number: Int)] = [:]
  var acceptedAt: [RequestID: (plan: Schedule.RequestPlan, at: Moments)] = [:]
  /// Open launches of each host.
  var open: [HostName: Set<LaunchKey>] = [:]
  /// Requests that were cancelled while they waited, and while they ran.
  var cancelledWaiting: Set<RequestID> = []
  var stopping: Set<RequestID> = []
  /// Requests that had ended long enough.
  var pruned: Set<RequestID> = []
  var spanIDs: Set<[UInt8]> = []
  /// When the next first launch of a spaced identifier may be.
  var lastFirstLaunch: [JobIdentifier: Moments] = [:]
  /// What a tracing backend has been sent.
  var sentSpans: [SpanKey: SpanSource] = [:]
  /// Begun by handlers.
  private(set) var batchCount = 0
  /// Virtual time since the beginning.
  var now = Duration.zero

  /// Nothing runs.
  var isQuiet: Bool { open.allSatisfy { $0.value.isEmpty } }

  init(_ schedule: Schedule) { self.schedule = schedule }

  func violation(_ rule: Violation.Rule, _ text: String) -> Violation { Violation(rule: rule, text: text, at: now) }

  func expect(_ condition: Bool, _ rule: Violation.Rule, _ text: @autoclosure () -> String) throws {
    guard condition else { throw violation(rule, text()) }
  }

  /// The store has committed what an operator said.
  func wished(_ word: CoordinatorCore.Word) {
    switch word {
    case .pause(let isPaused): wished(nil, off: nil, isPaused)
    case .drain(let host, let isDraining): wished(nil, off: host, isDraining)
    case .evict(let pattern, let host, let isEvicted): wished(pattern, off: host, isEvicted)
    }
  }

  /// An operator wants something off a host, or takes that back.
  private func wished(_ pattern: IdentifierPattern?, off host: HostName?, _ isWished: Bool) {
    wishes.removeAll { $0.host == host && $0.pattern == pattern }
    if isWished { wishes.append(Wish(host: host, pattern: pattern, since: now)) }
  }

  // MARK: Submissions

  /// A client has its answer.
  func acknowledged(_ plan: Schedule.RequestPlan, _ receipt: SubmissionReceipt) throws {
    if let known = receipts[plan.id] {
      try expect(
        known == (receipt.request, receipt.number), .submissionLost,
        "\(plan.id) was answered with request \(known.request), and now with \(receipt.request)")
    }
    receipts[plan.id] = (receipt.request, receipt.number)
  }

  /// The store has committed it.
  func submitted(_ plan: Schedule.RequestPlan, _ receipt: SubmissionReceipt, at steady: Timestamp) throws {
    try acknowledged(plan, receipt)
    acceptedAt[receipt.request] = (plan, Moments(steady: steady, elapsed: now))
  }

  // MARK: Batches

  /// A handler begins a batch.
  func began(_ batch: Int, of launch: LaunchKey) throws {
    guard var log = launches[launch], var request = requests[launch.request] else {
      throw violation(.batches, "\(launch) runs, and was never started")
    }
    batchCount += 1
    let next = log.firstBatch + log.begun
    try expect(batch == next, .batches, "\(launch) begins batch \(batch) where \(next) is its next")
    try expect(
      log.begun == log.acknowledged, .batches,
      "\(launch) begins batch \(batch) and was not told of the commit of the one before")
    try expect(batch <= request.begun, .batches, "\(launch) begins batch \(batch); \(request.begun) was skipped")
    try expect(
      batch >= request.acknowledged || request.open != launch, .checkpointLost,
      "\(launch) repeats batch \(batch); \(request.acknowledged) are acknowledged")
    log.begun += 1
    request.begun = max(request.begun, batch + 1)
    launches[launch] = log
    requests[launch.request] = request
  }

  /// A handler was told that its batch is durable.
  func told(_ batch: Int, of launch: LaunchKey) throws {
    guard var request = requests[launch.request] else { return }
    try expect(
      batch < request.committed, .checkpointLost, "batch \(batch) of \(launch) is acknowledged and was not committed")
    request.acknowledged = max(request.acknowledged, batch + 1)
    requests[launch.request] = request
    launches[launch]?.acknowledged += 1
  }

  /// The store took, or refused, a checkpoint.
  func checkpointed(_ checkpoint: Checkpoint, _ answer: CheckpointAnswer) throws {
    let launch = checkpoint.launch
    if case .refused(let text) = answer { throw violation(.crash, "\(launch) was refused a checkpoint: \(text)") }
    guard case .committed(let batch) = answer, var request = requests[launch.request] else { return }
    try expect(
      request.open == launch, .supersededCommit,
      "\(launch) committed batch \(batch), and the live launch is \(request.open.map { "\($0)" } ?? "none")")
    try expect(batch <= request.committed, .batches, "batch \(batch) of \(launch) came before \(request.committed)")
    guard batch == request.committed else { return }
    let begun = launches[launch].map { $0.firstBatch + $0.begun } ?? 0
    try expect(batch < begun, .batches, "\(launch) committed batch \(batch), which its handler did not begin")
    request.committed = batch + 1
    request.reachedEnd = checkpoint.reachesEnd
    requests[launch.request] = request
  }
}

extension Checkpoint {
  /// What a handler saves after so many batches of a request: nobody else's cursor looks the same.
  static func cursor(of request: RequestID, after batches: Int) -> [UInt8] {
    [request.rawValue, Int64(batches)].flatMap { value in
      (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
  }
}
