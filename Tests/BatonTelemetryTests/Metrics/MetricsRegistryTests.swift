import BatonModel
import BatonTelemetry
import Metrics
import Testing

/// Calls of swift-metrics go in, a snapshot comes out.
@Suite struct MetricsRegistryTests {
  private static func text(_ registry: MetricsRegistry) async -> [Substring] {
    await registry.snapshot().prometheusText.split(separator: "\n").filter { !$0.hasPrefix("#") }
  }

  @Test("Counters add up, also those of a fraction, and never fall")
  func counters() async {
    let registry = MetricsFixture.registry()
    let counter = Metrics.Counter(label: "things", factory: registry)
    counter.increment()
    counter.increment(by: 41)
    counter.increment(by: -5)
    let fractions = FloatingPointCounter(label: "fractions_total", factory: registry)
    fractions.increment(by: 0.25)
    fractions.increment(by: 0.25)
    for wrong in [-1, Double.nan, .infinity] { fractions.increment(by: wrong) }
    #expect(await Self.text(registry) == ["fractions_total 0.5", "things_total 42"])
  }

  @Test("A counter is there with 0 before anything happened, and a reset takes it back to 0")
  func zero() async {
    let registry = MetricsFixture.registry()
    let counter = Metrics.Counter(label: "things_total", factory: registry)
    #expect(await Self.text(registry) == ["things_total 0"])
    counter.increment()
    counter.reset()
    #expect(await Self.text(registry) == ["things_total 0"])
  }

  @Test("A meter, and a recorder without aggregation, show the last value")
  func gauges() async {
    let registry = MetricsFixture.registry()
    let meter = Meter(label: "level", factory: registry)
    meter.set(3)
    meter.increment(by: 2.5)
    meter.decrement(by: 1)
    Gauge(label: "depth", factory: registry).record(-7)
    #expect(await Self.text(registry) == ["depth -7", "level 4.5"])
  }

  @Test("A timer counts in seconds, whatever unit it is told, and its name says so")
  func timers() async {
    let registry = MetricsFixture.registry()
    let timer = Metrics.Timer(label: "wait", factory: registry)
    timer.recordMilliseconds(250)
    timer.recordNanoseconds(-1)
    let lines = await Self.text(registry)
    #expect(lines.contains(#"wait_seconds_bucket{le="0.1"} 1"#) && lines.contains(#"wait_seconds_bucket{le="0.25"} 2"#))
    #expect(lines.suffix(2) == ["wait_seconds_sum 0.25", "wait_seconds_count 2"])
  }

  @Test("A recorder with aggregation is a histogram with the bounds of its name")
  func recorders() async {
    let registry = MetricsFixture.registry()
    Recorder(label: Names.Metric.commitOperations, factory: registry).record(4096)
    let lines = await Self.text(registry)
    #expect(lines.count == MetricBounds.commitOperations.count + 3)
    #expect(lines.contains(#"baton_commit_operations_bucket{le="2048"} 0"#))
    #expect(lines.contains(#"baton_commit_operations_bucket{le="4096"} 1"#))
  }

  @Test("The same labels are the same series, in any order, and after a destroy")
  func sameSeries() async {
    let registry = MetricsFixture.registry()
    let first = Metrics.Counter(label: "x_total", dimensions: [("a", "1"), ("b", "2")], factory: registry)
    first.increment()
    Metrics.Counter(label: "x_total", dimensions: [("b", "2"), ("a", "1")], factory: registry).increment()
    first.destroy()
    Metrics.Counter(label: "x", dimensions: [("a", "0"), ("b", "2"), ("a", "1")], factory: registry).increment()
    #expect(await Self.text(registry) == [#"x_total{a="1",b="2"} 3"#])
  }

  @Test("Names of libraries become names that Prometheus takes; no label is called as one of its own")
  func names() async {
    let registry = MetricsFixture.registry()
    let dimensions = [
      ("job", "1"), ("instance", "2"), ("le", "3"), ("__name__", "4"), ("http.method", "5"), ("9", "6"),
    ]
    Meter(label: "http.in-flight:9", dimensions: dimensions, factory: registry).set(1)
    Meter(label: "9ö", factory: registry).set(1)
    #expect(
      await Self.text(registry) == [
        "_9_ 1",
        #"http_in_flight:9{_9="6",exported___name__="4",exported_instance="2",exported_job="1",exported_le="3",http_method="5"} 1"#,
      ])
  }

  @Test("Beyond its limit of series, a metric counts the rest in one more series, and counts how often that happened")
  func overflow() async {
    let registry = MetricsFixture.registry(limits: MetricLimits(series: 2))
    for number in 1...5 {
      Metrics.Counter(label: "x_total", dimensions: [("id", "\(number)"), ("a", "1")], factory: registry).increment()
    }
    Metrics.Counter(label: "x_total", dimensions: [("id", "2"), ("a", "1")], factory: registry).increment()
    #expect(
      await Self.text(registry) == [
        #"baton_metric_series_refused_total{metric="x_total"} 3"#, #"x_total{a="1",id="1"} 1"#,
        #"x_total{a="1",id="2"} 2"#, #"x_total{a="other",id="other"} 3"#,
      ])
  }

  @Test("Labels of a thousand names take no more room than their limit")
  func overflowOfNames() async {
    let registry = MetricsFixture.registry(limits: MetricLimits(series: 3))
    for number in 1...1000 { Meter(label: "x", dimensions: [("n\(number)", "1")], factory: registry).set(1) }
    #expect(await registry.snapshot().families.first { $0.name == "x" }?.samples.count == 4)
  }

  @Test("Beyond its limit of metrics a registry takes no more, and counts them under `other`")
  func overflowOfMetrics() async {
    let registry = MetricsFixture.registry(limits: MetricLimits(families: 1))
    for name in ["a", "b", "c"] { Meter(label: name, factory: registry).set(1) }
    #expect(await Self.text(registry) == ["a 1", #"baton_metric_series_refused_total{metric="other"} 2"#])
  }

  @Test("A name that is of another kind is refused, also one of Baton's that nobody has used yet")
  func kinds() async {
    let registry = MetricsFixture.registry()
    Meter(label: "x_total", factory: registry).set(5)
    Metrics.Counter(label: "x", factory: registry).increment()
    Meter(label: Names.Metric.launches, factory: registry).set(5)
    #expect(
      await Self.text(registry) == [
        #"baton_metric_series_refused_total{metric="baton_launches_total"} 1"#,
        #"baton_metric_series_refused_total{metric="x_total"} 1"#, "x_total 5",
      ])
  }

  @Test("Collectors are asked at every snapshot, and what they say is not kept")
  func collectors() async {
    let registry = MetricsFixture.registry()
    let asked = Metrics.Counter(label: "asked", factory: registry)
    registry.collect {
      asked.increment()
      return [MetricFamily(Names.Metric.readyOldest, 7)]
    }
    _ = await registry.snapshot()
    #expect(await Self.text(registry) == ["asked_total 2", "baton_ready_oldest_seconds 7"])
  }

  @Test("Counts from many tasks at once are all there")
  func concurrency() async {
    let registry = MetricsFixture.registry()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            Metrics.Counter(label: "x", dimensions: [("task", "\(task % 2)")], factory: registry).increment()
            Recorder(label: "y", factory: registry).record(1)
          }
        }
      }
    }
    let lines = await Self.text(registry)
    #expect(lines.prefix(2) == [#"x_total{task="0"} 2000"#, #"x_total{task="1"} 2000"#])
    #expect(lines.suffix(2) == ["y_sum 4000", "y_count 4000"])
  }
}
