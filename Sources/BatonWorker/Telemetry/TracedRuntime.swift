import BatonHandler
import BatonModel

/// Wraps a command's runtime and tells its `RunSpan` when batches begin and are committed.
struct TracedRuntime: CommandRuntime {
  let runtime: any CommandRuntime
  let run: RunSpan

  var expiry: Expiry? { runtime.expiry }
  var progress: Progress { runtime.progress }
  var frozenItems: Int? { runtime.frozenItems }
  var shard: Shard? { runtime.shard }
  var traceparent: String? { run.traceparent }

  var submitterSpan: TraceContext? { run.traceparent.flatMap { TraceContext(traceparent: $0) } }

  func commit(_ commit: Commit) async throws {
    try await runtime.commit(commit)
    if !commit.isEndOnly { run.committed(bytes: commit.cursor?.count) }
  }

  func commitLast(_ commit: Commit) async throws {
    try await runtime.commitLast(commit)
    if !commit.isEndOnly { run.committed(bytes: commit.cursor?.count) }
  }

  func batchBegins() { run.announced() }

  func freeze(_ items: [String], start: Int, isLast: Bool) async throws {
    try await runtime.freeze(items, start: start, isLast: isLast)
  }

  func items(start: Int, count: Int) async throws -> [String] { try await runtime.items(start: start, count: count) }

  func submit(_ submission: LaunchSubmission) async throws -> AcceptedSubmission {
    try await runtime.submit(submission)
  }

  func output(_ bytes: [UInt8]) { runtime.output(bytes) }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {
    runtime.update(title: title, subtitle: subtitle, completedUnits: completedUnits, totalUnits: totalUnits)
  }

  func conclude(_ result: RefreshResult) { runtime.conclude(result) }
}
