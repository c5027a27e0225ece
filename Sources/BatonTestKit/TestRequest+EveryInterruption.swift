public import BatonModel
import Synchronization

extension TestRequest {
  /// Runs `body` undisturbed, then once more for each point at which its request can be interrupted, and throws unless it
  /// comes out the same every time: the test that proves a handler resumable.
  ///
  /// ```swift
  /// try await TestRequest("com.example.db-cleanup").checkEveryInterruption { request in
  ///   let database = FakeDatabase(rows: 1...120)
  ///   try await request.complete { task in try await cleanup(task, database) }
  ///   return database.rows
  /// }
  /// ```
  /// The points are: before each batch, in it (see `Interruption.Point.during`; of many points the first, the middle and
  /// the last) and after it, each with an expiry and with a lost worker; then after every batch in one run, and a loss in
  /// every batch. Each run has a request and a clock of its own that is like this one, except that sleeps move it.
  ///
  /// A run fails if `body` throws or returns something else than undisturbed; if more than one batch is repeated per
  /// interruption; if the handler begins more than one batch after it was asked to stop; or if a checkpoint of the
  /// undisturbed run is never reached.
  /// - Parameters:
  ///   - reason: of the expiries; not `.cancelled`, which ends the request.
  ///   - comparingCheckpoints: false for handlers whose cursors differ from run to run by their nature (times, random
  ///     numbers, sets) or never change; then neither repeated nor missing checkpoints are looked for.
  ///   - body: makes everything anew, completes the request, and returns what its work came to. At most 200 batches.
  /// - Throws: `TestKitError` with code `.interruptionsMatter` that lists what failed, or what the undisturbed run throws.
  public func checkEveryInterruption<Effects: Equatable>(
    because reason: ExpiryReason = .draining, comparingCheckpoints: Bool = true,
    isolation: isolated (any Actor)? = #isolation, _ body: (TestRequest) async throws -> Effects
  ) async throws {
    let undisturbed = try await Trial(of: self, under: [], isolation: isolation, body)
    let plans = try undisturbed.plans(because: reason)
    var complaints: [String] = []
    for plan in plans {
      try Task.checkCancellation()
      if let complaint = await complaint(plan, undisturbed, comparingCheckpoints, isolation: isolation, body) {
        complaints.append("- \(plan): \(complaint)")
      }
    }
    if !complaints.isEmpty { throw failure(complaints, of: plans.count) }
  }

  /// The same for a `body` that returns nothing: its checkpoints are compared, and what it throws itself counts.
  public func checkEveryInterruption(
    because reason: ExpiryReason = .draining, comparingCheckpoints: Bool = true,
    isolation: isolated (any Actor)? = #isolation, _ body: (TestRequest) async throws -> Void
  ) async throws {
    try await checkEveryInterruption(
      because: reason, comparingCheckpoints: comparingCheckpoints, isolation: isolation
    ) { request -> Int in
      try await body(request)
      return 0
    }
  }

  private func complaint<Effects: Equatable>(
    _ plan: Plan, _ undisturbed: Trial<Effects>, _ comparingCheckpoints: Bool, isolation: isolated (any Actor)?,
    _ body: (TestRequest) async throws -> Effects
  ) async -> String? {
    do {
      let trial = try await Trial(of: self, under: plan.interruptions, isolation: isolation, body)
      return trial.complaint(against: undisturbed, comparingCheckpoints: comparingCheckpoints)
    } catch {
      return "\(error)"
    }
  }

  private func failure(_ complaints: [String], of count: Int) -> TestKitError {
    let shown = complaints.prefix(10).joined(separator: "\n")
    let rest = complaints.count > 10 ? "\n- and \(complaints.count - 10) more" : ""
    return TestKitError(
      .interruptionsMatter,
      "\(settings.identifier) does not survive \(complaints.count) of \(count) interruptions:\n\(shown)\(rest)")
  }
}

/// The interruptions of one run.
struct Plan: CustomStringConvertible {
  var interruptions: [Interruption]
  var description: String
}
