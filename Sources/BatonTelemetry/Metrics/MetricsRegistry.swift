package import BatonModel
package import Metrics
internal import Synchronization

/// Where the metrics of a process are: a factory for swift-metrics, and collectors that are asked at each snapshot.
///
/// It takes a bounded amount of memory, whatever labels are thought up. A series stays to the end of the process, also
/// after swift-metrics said `destroy`: others may hold it too, and a counter that came back at 0 would look like a restart.
package final class MetricsRegistry: Sendable {
  /// Reads families now. It may wait for something, but not for long: a scrape waits for it.
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

  /// Asks `collector` at every snapshot from now on.
  package func collect(with collector: @escaping Collector) { state.withLock { $0.collectors.append(collector) } }

  /// Everything as it is now. Collectors are asked one after the other.
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

// What there is no room for gets a handler that nobody reads.
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

  /// Without aggregation it is a gauge.
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
  /// The bounds that a histogram of this name has.
  static func bounds(of name: String) -> [Double] {
    if case .histogram(let bounds) = of(name)?.kind { return bounds }
    return MetricBounds.usual
  }
}
