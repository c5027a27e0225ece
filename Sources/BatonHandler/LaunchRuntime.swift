package import BatonModel

/// The environment of a `JobTask`. A worker implements it with its connection to the coordinator (`ActiveLaunch`), and
/// BatonTestKit with a store in memory (`LaunchUnderTest`).
package protocol LaunchRuntime: Sendable {
  /// The order to stop; `nil` while the launch may go on.
  var expiry: Expiry? { get }
  /// The progress of the last durable checkpoint.
  var progress: Progress { get }
  /// Saves a checkpoint, and returns when it is durable. Cancellation does not interrupt it, so that a batch that was
  /// running at an expiry can be committed.
  /// - Throws: `HandlerError` with the code `.superseded` or `.checkpointRefused`.
  func commit(_ commit: Commit) async throws
  /// Submits a request, and returns when the store has it. Cancellation does not interrupt it.
  /// - Throws: `HandlerError` with the code `.superseded` or `.submissionRefused`.
  func submit(_ submission: LaunchSubmission) async throws -> AcceptedSubmission
  /// The span in which the handler runs now, for what it submits; `nil` for the span of the launch.
  var submitterSpan: TraceContext? { get }
  /// Shows texts and progress to the people who watch. It never waits.
  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?)
  /// Records what a refresh found. The last call counts; the result is sent with the end of the launch.
  func conclude(_ result: RefreshResult)
  /// `JobTask.batches` hands out a batch. From here until the next commit the handler works on that batch.
  func batchBegins()
}

extension LaunchRuntime {
  /// The default, for a runtime without tracing: the span of the launch is the parent of what it submits.
  package var submitterSpan: TraceContext? { nil }
  /// Does nothing. `TracedRuntime` begins the batch's span here, and BatonTestKit may interrupt the batch.
  package func batchBegins() {}
}
