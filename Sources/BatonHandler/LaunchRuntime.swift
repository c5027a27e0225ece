package import BatonModel

/// What a launch runs on: a worker's connection to the coordinator, or a test kit.
package protocol LaunchRuntime: Sendable {
  var expiry: Expiry? { get }
  /// What the last durable checkpoint says.
  var progress: Progress { get }
  /// Returns when the checkpoint is durable; not cut short by cancellation, so that a running batch can be committed.
  func commit(_ commit: Commit) async throws
  /// Live texts and progress; never waits.
  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?)
  /// What a refresh found: the last word counts, and travels with the end of the launch.
  func conclude(_ result: RefreshResult)
  /// A batch of `JobTask.batches` is handed out: from here on until the next commit the handler is at work on it.
  func batchBegins()
}

extension LaunchRuntime {
  /// Nothing hangs on it in a worker; a test kit interrupts batches here.
  package func batchBegins() {}
}
