package import BatonModel
package import Metrics
internal import Synchronization

/// Holds the metrics of a process. It is the factory for swift-metrics, and asks additional collectors at each
/// snapshot.
///
/// Its memory is bounded, however many labels are used (`MetricLimits`). A series is kept until the process ends, even
/// after swift-metrics has called `destroy…`: other handlers may share the series, and a counter that starts again at 0
/// would look like a restart of the process.
package final class MetricsRegistry: Sendable {
  /// Reads metrics at the time of a snapshot. A collector may suspend, but only for a short time, because a scrape
  /// waits for it.
  package typealias Collector = @Sendable () async -> [MetricFamily]

  private struct State {
    var table: SeriesTable
    var collectors: [Collector] = []
  }

  private let state: Mutex<State>
  private let startedAt: Timestamp
  private let date: @Sendable () -> Timestamp

  /// - Parameter date: the wall clock.
  package init(limits: MetricLimits = MetricLimits(), date: @escaping @Sendable () -> Timestamp) {
    state = Mutex(State(table: SeriesTable(limits: limits)))
    self.date = date
    startedAt = date()
  }

  /// Adds a collector that is asked at every snapshot from now on.
  package func collect(with collector: @escaping Collector) { state.withLock { $0.collectors.append(collector) } }

  /// All metrics as they are now. The collectors are asked one after the other.
  package func snapshot() async -> MetricsSnapshot {
    let collectors = state.withLock { $0.collectors }
    var families: [MetricFamily] = []
    for collector in collectors { families += await collector() }
    let (counted, refused) = state.withLock { ($0.table.families, $0.table.refused) }
    families += counted + [Self.family(of: refused)]
    return MetricsSnapshot(families, startedAt: startedAt, takenAt: date())
  }

  private static func family(of refused: [String: Int]) -> MetricFamily {
    MetricFamily(
      Names.Metric.seriesRefused, refused.map { ([MetricLabel(Names.Label.metric, $0.key)], Double($0.value)) })
  }

  /// The series with these labels; `nil` if there is no room for it, or if the metric exists with another kind.
  private func series<Series: MetricSeries>(
    _ name: String, _ dimensions: [(String, String)], _ kind: MetricDescription.Kind,
    make: (MetricDescription) -> Series
  ) -> Series? {
    let labels = [MetricLabel](dimensions: dimensions)
    return state.withLock { $0.table.series(MetricDescription(name, "", kind), labels, make: make) }
  }

  private func histogram(_ name: String, _ dimensions: [(String, String)]) -> HistogramSeries {
    let bounds = MetricDescription.bounds(of: name)
    return series(name, dimensions, .histogram(bounds: bounds)) { _ in HistogramSeries(bounds: bounds) }
      ?? HistogramSeries(bounds: [])
  }

  private func gauge(_ name: String, _ dimensions: [(String, String)]) -> GaugeSeries {
    series(name, dimensions, .gauge) { _ in GaugeSeries() } ?? GaugeSeries()
  }

  private func counter(_ name: String, _ dimensions: [(String, String)]) -> CounterSeries {
    series(name, dimensions, .counter) { _ in CounterSeries() } ?? CounterSeries()
  }
}

// A metric or series beyond the limits gets a handler that is not part of any snapshot.
extension MetricsRegistry: MetricsFactory {
  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    counter(MetricName.metric(label, ending: "_total"), dimensions)
  }

  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    counter(MetricName.metric(label, ending: "_total"), dimensions)
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gauge(MetricName.metric(label), dimensions)
  }

  /// Makes a histogram if `aggregate` is true, else a gauge.
  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    let name = MetricName.metric(label)
    return aggregate ? histogram(name, dimensions) : gauge(name, dimensions)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(MetricName.metric(label, ending: "_seconds"), dimensions)
  }

  package func destroyCounter(_ handler: any CounterHandler) {}
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  package func destroyMeter(_ handler: any MeterHandler) {}
  package func destroyRecorder(_ handler: any RecorderHandler) {}
  package func destroyTimer(_ handler: any TimerHandler) {}
}

extension MetricDescription {
  /// The bucket bounds of the histogram `name`: Baton's own, or the usual bounds for a metric of a library.
  static func bounds(of name: String) -> [Double] {
    if case .histogram(let bounds) = of(name)?.kind { return bounds }
    return MetricBounds.usual
  }
}
