import BatonModel
import BatonTelemetry
import Foundation

enum MetricsFixture {
  static let start = Timestamp(nanoseconds: 1_764_000_000_000_000_000)
  static let later = Timestamp(nanoseconds: 1_764_000_060_000_000_001)
  static let definition = MetricLabel("definition", "a.b")

  static func counts(_ bounds: [Double], _ values: [Double]) -> HistogramCounts {
    var counts = HistogramCounts(bounds: bounds)
    for value in values { counts.record(value) }
    return counts
  }

  static func snapshot(_ families: [MetricFamily]) -> MetricsSnapshot {
    MetricsSnapshot(families, startedAt: start, takenAt: later)
  }

  static func gauge(
    _ value: Double, _ labels: [MetricLabel] = [], name: String = "size", help: String = ""
  ) -> MetricFamily {
    MetricFamily(MetricDescription(name, help, .gauge), [MetricFamily.Sample(labels, .number(value))])
  }

  static func registry(limits: MetricLimits = MetricLimits()) -> MetricsRegistry {
    MetricsRegistry(limits: limits, date: { start })
  }
}

/// A clock that stands still until a test moves it.
final class StandingClock: Sendable {
  private let lock = NSLock()
  nonisolated(unsafe) private var time = Instant(nanoseconds: 0)

  var now: Instant { lock.withLock { time } }
  func advance(_ duration: Duration) { lock.withLock { time = time + duration } }
}
