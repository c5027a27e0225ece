package import BatonHandler
package import BatonModel

/// What a command needs in addition to a handler: items in the store, and a place for its output.
package protocol CommandRuntime: LaunchRuntime {
  /// The number of items that are frozen in the store; `nil` until all of them are.
  var frozenItems: Int? { get }
  /// The shard that the launch works on, with its end as of the last checkpoint; `nil` if the request is not divided.
  var shard: Shard? { get }
  /// Sends one page of items to the store. Pages must be sent in order. Returns when the page is durable. A first page
  /// (`start` 0) replaces the pages of an earlier launch that did not send its last page.
  /// - Throws: `HandlerError` with the code `.superseded` or `.checkpointRefused`.
  func freeze(_ items: [String], start: Int, isLast: Bool) async throws
  /// Returns the items `start ..< start + count` from the store, in order.
  func items(start: Int, count: Int) async throws -> [String]
  /// Saves the last checkpoint of the launch. It may be committed together with the ending of the launch, if the
  /// command runner returns without an error. The runner asks nothing afterwards.
  func commitLast(_ commit: Commit) async throws
  /// Passes on output of the command. The last 64 KiB of each launch are kept. This method never waits.
  func output(_ bytes: [UInt8])
  /// The value of `TRACEPARENT` for a process that is started now; `nil` for the launch's span.
  var traceparent: String? { get }
}

extension CommandRuntime {
  /// The default, for a runtime without tracing: `nil`, so that a process gets the launch's span.
  package var traceparent: String? { nil }
  /// The default, for a runtime whose requests are not divided.
  package var shard: Shard? { nil }
  /// The default: `commit`.
  package func commitLast(_ commit: Commit) async throws { try await self.commit(commit) }
}
