package import BatonHandler

/// What a command needs beyond what every handler has: items in the store, and a place for its output.
package protocol CommandRuntime: LaunchRuntime {
  /// How many items are frozen in the store; nil while they are not all there.
  var frozenItems: Int? { get }
  /// Sends one page of items up, in order; returns when it is durable (throws HandlerError .superseded /
  /// .checkpointRefused). A first page (`start` 0) replaces what an earlier launch sent without reaching its last one.
  func freeze(_ items: [String], start: Int, isLast: Bool) async throws
  /// Items from the store: exactly those at `start ..< start + count`, in order.
  func items(start: Int, count: Int) async throws -> [String]
  /// Kept per launch, the last 64 KiB; never waits.
  func output(_ bytes: [UInt8])
  /// What a process that is started now gets as `TRACEPARENT`; nil means the launch.
  var traceparent: String? { get }
}

extension CommandRuntime {
  /// The launch, where nothing is traced.
  package var traceparent: String? { nil }
}
