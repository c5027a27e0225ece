import BatonBase
import BatonCore
import BatonHandler
package import BatonModel
import BatonWire

/// Where a worker's time comes from; tests bring their own.
package struct WorkerClocks: Sendable {
  package var instant: @Sendable () -> Instant
  package var sleep: @Sendable (Duration) async throws -> Void
  /// The wall clock, which only the owner's hours, terminals and what people read depend on.
  package var date: @Sendable () -> Timestamp

  package init(
    instant: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void,
    date: @escaping @Sendable () -> Timestamp = { SystemClocks.date() }
  ) {
    self.instant = instant
    self.sleep = sleep
    self.date = date
  }

  /// A closing window as handlers see it: with its deadline on the standard library's clock.
  func expiry(_ window: ClosingWindow) -> Expiry {
    Expiry(reason: window.reason, deadline: .now + (window.deadline - instant()))
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
