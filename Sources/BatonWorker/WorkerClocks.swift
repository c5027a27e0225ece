package import BatonModel
import BatonWire

/// Where a worker's time comes from; tests bring their own.
package struct WorkerClocks: Sendable {
  package var instant: @Sendable () -> Instant
  package var sleep: @Sendable (Duration) async throws -> Void

  package init(
    instant: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.instant = instant
    self.sleep = sleep
  }

  package static let system = WorkerClocks(
    instant: { SystemClocks.instant() }, sleep: { try await Task.sleep(for: $0, clock: .continuous) })
}

extension String {
  /// 16 random hexadecimal digits.
  package static func randomIncarnation() -> String {
    String((0..<16).map { _ in "0123456789abcdef".randomElement() ?? "0" })
  }
}
