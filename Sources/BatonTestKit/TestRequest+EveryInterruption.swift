public import BatonModel
import Synchronization

extension TestRequest {
  /// Checks that a handler can be interrupted anywhere without a change of its result. Begin the tests of a handler
  /// with this check.
  ///
  /// ```swift
  /// try await TestRequest("com.example.db-cleanup").checkEveryInterruption { request in
  ///   let database = FakeDatabase()
  ///   try await request.complete(cleanup(database))
  ///   return database.rows
  /// }
  /// ```
  ///
  /// The sample is from `Examples/TestKit/CleanupTests.swift`.
  ///
  /// The check runs `body` once without an interruption. Then it runs `body` once for each interruption:
  ///
  /// - before each batch, in it and after it, with an expiry and with the loss of the worker. An expiry in a batch is
  ///   tried at up to three of the batch's points: the first, the middle and the last (see
  ///   `Interruption.Point.during(batch:point:)`);
  /// - in one run, an expiry after every batch;
  /// - in one run, the loss of the worker during every batch.
  ///
  /// Each run gets a request with the settings of this one, and a clock of its own on which sleeps move the time. The
  /// request on which you call this method is not launched.
  ///
  /// A run fails in any of these cases:
  ///
  /// - `body` throws an error, or returns another value than in the undisturbed run.
  /// - More than one batch is repeated for an interruption.
  /// - A checkpoint of the undisturbed run is not reached: the handler has skipped work.
  /// - The handler begins more than one batch after it was asked to stop, or it still runs at its deadline.
  ///
  /// - Parameters:
  ///   - reason: the reason of the expiries. `.cancelled` is not suitable, because it ends the request.
  ///   - comparingCheckpoints: whether to look for repeated and missing checkpoints. Pass `false` for a handler whose
  ///     cursors differ from run to run by their nature (times, random numbers, sets) or never change.
  ///   - isolation: the actor that `body` runs on; by default the actor of the caller.
  ///   - body: creates all fakes, completes the request that it gets, and returns the result of the work. A fake from
  ///     outside of the closure would carry the effects of one run into the next. Return the result rather than a list
  ///     of calls: after a loss the last batch runs again, and that must not change the result. The work may have at
  ///     most 200 batches; a handful is enough, because `body` runs four to six times for each batch.
  /// - Throws: `TestKitError` with the code `.interruptionsMatter`, whose message lists the interruptions that failed;
  ///   the code `.endless` if there are more than 200 batches; or the error of the undisturbed run.
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

  /// Checks that a handler can be interrupted anywhere, with a `body` that returns nothing. Only the checkpoints are
  /// compared, and the errors that `body` throws count.
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
