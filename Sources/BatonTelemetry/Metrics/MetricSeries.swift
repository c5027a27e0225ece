internal import Metrics
internal import Synchronization

/// One series: the handler to which swift-metrics writes, and which a snapshot reads.
protocol MetricSeries: AnyObject, Sendable {
  var value: MetricFamily.Value { get }
}

/// A counter. It adds only finite amounts above 0: readers take a counter that falls for a restart of the process.
final class CounterSeries: MetricSeries, CounterHandler, FloatingPointCounterHandler {
  private let total = Mutex(0.0)

  var value: MetricFamily.Value { .number(total.withLock { $0 }) }

  func increment(by amount: Int64) { increment(by: Double(amount)) }

  func increment(by amount: Double) {
    guard amount > 0, amount.isFinite else { return }
    total.withLock { $0 += amount }
  }

  /// Sets the counter to 0. Readers take this for a restart of the process.
  func reset() { total.withLock { $0 = 0 } }
}

/// A gauge: the last number that was recorded. A swift-metrics recorder without aggregation is a gauge, too.
final class GaugeSeries: MetricSeries, MeterHandler, RecorderHandler {
  private let last = Mutex(0.0)

  var value: MetricFamily.Value { .number(last.withLock { $0 }) }

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { last.withLock { $0 = value } }
  func increment(by amount: Double) { last.withLock { $0 += amount } }
  func decrement(by amount: Double) { last.withLock { $0 -= amount } }
  func record(_ value: Int64) { set(value) }
  func record(_ value: Double) { set(value) }
}

/// A histogram. Durations are recorded in seconds.
final class HistogramSeries: MetricSeries, RecorderHandler, TimerHandler {
  private let counts: Mutex<HistogramCounts>

  init(bounds: [Double]) { counts = Mutex(HistogramCounts(bounds: bounds)) }

  var value: MetricFamily.Value { .histogram(counts.withLock { $0 }) }

  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { counts.withLock { $0.record(value) } }
  /// Records a duration. A negative duration counts as 0, because clocks that disagree must not reduce the sum.
  func recordNanoseconds(_ duration: Int64) { record(Double(max(0, duration)) / 1e9) }
}
