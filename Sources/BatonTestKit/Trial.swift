import BatonModel
import Synchronization

/// One run of the body of `checkEveryInterruption`, with its result.
struct Trial<Effects: Equatable> {
  /// The most batches that a check accepts. The time of a check grows with the square of the number, because each run
  /// has all batches and each batch has several runs.
  static var maximumBatches: Int { 200 }

  let request: TestRequest
  let effects: Effects

  /// Runs `body` with a request like `template`, which gets the interruptions in this order.
  /// - Throws: the error of `body`, or `TestKitError` if the request has not succeeded or has not reached all
  ///   interruptions.
  init(
    of template: TestRequest, under interruptions: [Interruption], isolation: isolated (any Actor)?,
    _ body: (TestRequest) async throws -> Effects
  ) async throws {
    request = TestRequest(
      template.settings, planned: interruptions, clock: ManualClock(sleepsMoveTime: true))
    effects = try await body(request)
    try request.requireSuccess()
    try request.requireNothingPlanned()
  }

  /// Returns the plans of all runs that follow this undisturbed run.
  /// - Throws: `TestKitError` with the code `.endless` if the run had too many batches.
  func plans(because reason: ExpiryReason) throws -> [Plan] {
    let batches = request.checkpoints.count
    guard batches <= Self.maximumBatches else {
      throw TestKitError(
        .endless,
        "\(request.settings.identifier) commits \(batches) batches: give the check less work, "
          + "\(Self.maximumBatches) batches at most")
    }
    let single = Interruption.every(points: points, because: reason).map {
      Plan(interruptions: [$0], description: "\($0)")
    }
    let expired = (0...batches).map { Interruption.expiry(reason, .after(batches: $0)) }
    let lost = (0...batches).map { Interruption.workerLost(.during(batch: $0)) }
    return single + [
      Plan(interruptions: expired, description: "expiry '\(reason.code)' after every batch"),
      Plan(interruptions: lost, description: "loss of the worker during every batch"),
    ]
  }

  /// The number of points in each batch, over all launches. Even the undisturbed run has several launches if the budget
  /// ends them.
  private var points: [Int: Int] {
    request.launches.reduce(into: [:]) { $0.merge($1.points, uniquingKeysWith: max) }
  }

  /// Describes what is wrong with this run in comparison with the undisturbed one; `nil` if nothing is wrong.
  func complaint(against undisturbed: Self, comparingCheckpoints: Bool) -> String? {
    disobedience ?? (comparingCheckpoints ? repetition ?? gap(undisturbed) : nil) ?? difference(undisturbed)
  }

  private var disobedience: String? {
    guard let launch = request.launches.first(where: { $0.ignoredExpiry || $0.batchesAfterExpiry > 1 }) else {
      return nil
    }
    return launch.ignoredExpiry
      ? "launch \(launch.number) still ran at the deadline of its expiry"
      : "launch \(launch.number) committed \(launch.batchesAfterExpiry) batches that it began after it was asked to "
        + "stop: use 'task.batches', or 'try Task.checkCancellation()' before each batch"
  }

  private var repetition: String? {
    let (repeated, allowed) = (request.repeatedBatches, request.launches.count - 1)
    guard repeated > allowed else { return nil }
    return
      "\(counted(repeated, "batch was", plural: "batches were")) repeated, and at most \(allowed) may be: a launch begins "
      + "at 'task.lastCheckpoint'"
  }

  private func gap(_ undisturbed: Self) -> String? {
    let reached = Set(request.checkpoints.map(\.place))
    guard let missing = undisturbed.request.checkpoints.first(where: { !reached.contains($0.place) }) else {
      return nil
    }
    return "batch \(missing.batch) of the undisturbed run never came: its checkpoint \(missing.json), "
      + "\(missing.completedUnits) units, was not reached\(hint)"
  }

  private func difference(_ undisturbed: Self) -> String? {
    guard effects != undisturbed.effects else { return nil }
    return "it came out as \(brief(effects)), undisturbed as \(brief(undisturbed.effects))\(hint)"
  }

  /// A hint for the most frequent mistake: a handler that returns when it is cancelled.
  private var hint: String {
    guard let launch = request.launches.first(where: { $0.expiry != nil && $0.outcome == .finished }) else { return "" }
    return " (launch \(launch.number) returned after it was asked to stop, and returning is completion: throw instead)"
  }

  private func brief(_ effects: Effects) -> String {
    let text = String(describing: effects)
    return text.count > 300 ? "\(text.prefix(300))…" : text
  }
}
