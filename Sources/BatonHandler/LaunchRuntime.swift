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

/// The durable part of a checkpoint, before it gets its launch and batch number.
package struct Commit: Hashable, Sendable {
  package var cursor: [UInt8]?
  package var completedUnits: Int64
  package var totalUnits: Int64?
  package var subtitle: String?
  package var reachesEnd: Bool
  /// Nothing was done since the commit before: this one only says that the end is reached, and is no batch.
  package var isEndOnly: Bool

  package init(
    cursor: [UInt8]?, completedUnits: Int64, totalUnits: Int64?, subtitle: String? = nil, reachesEnd: Bool = false,
    isEndOnly: Bool = false
  ) {
    self.cursor = cursor
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
    self.subtitle = subtitle
    self.reachesEnd = reachesEnd
    self.isEndOnly = isEndOnly
  }
}
