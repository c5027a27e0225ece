internal import Metrics
internal import Synchronization

/// One series, as swift-metrics writes to it.
protocol MetricSeries: AnyObject, Sendable {
  var value: MetricFamily.Value { get }
}

/// A number that goes up. Only a finite amount above 0 counts: a counter that falls looks like a restart.
final class CounterSeries: MetricSeries, CounterHandler, FloatingPointCounterHandler {
  private let total = Mutex(0.0)

  var value: MetricFamily.Value { .number(total.withLock { $0 }) }

  func increment(by amount: Int64) { increment(by: Double(amount)) }

  func increment(by amount: Double) {
    guard amount > 0, amount.isFinite else { return }
    total.withLock { $0 += amount }
  }

  /// Readers take it for a restart of the process.
  func reset() { total.withLock { $0 = 0 } }
}

/// The last number that was said. A recorder without aggregation is one, too.
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

/// Numbers by bucket; times are in seconds.
final class HistogramSeries: MetricSeries, RecorderHandler, TimerHandler {
  private let counts: Mutex<HistogramCounts>

  init(bounds: [Double]) { counts = Mutex(HistogramCounts(bounds: bounds)) }

  var value: MetricFamily.Value { .histogram(counts.withLock { $0 }) }

  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { counts.withLock { $0.record(value) } }
  /// A time below 0 is 0: clocks that disagree are no reason to go backwards.
  func recordNanoseconds(_ duration: Int64) { record(Double(max(0, duration)) / 1e9) }
}
