import BatonModel
import BatonTelemetry
import Foundation
import Testing

/// `Deploy/prometheus/example.prom` has every metric of Baton, as `/metrics` shows it; `Scripts/check-deploy` checks it
/// with promtool. After a metric was changed on purpose, `BATON_RECORD=1 swift test --filter ExampleTextTests` writes
/// it again.
@Suite struct ExampleTextTests {
  private static let path = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Deploy/prometheus/example.prom").standardizedFileURL

  private static let labels = [
    Names.Metric.requests: [MetricLabel("definition", "com.example.photos.*"), MetricLabel("state", "ready")],
    Names.Metric.obstacles: [MetricLabel("reason", "needsExternalPower")],
    Names.Metric.hosts: [MetricLabel("condition", "ready")],
    Names.Metric.hostSlots: [MetricLabel("host", "alpha")],
    Names.Metric.hostSlotsUsed: [MetricLabel("host", "alpha")],
    Names.Metric.requestsFailed: [
      MetricLabel("definition", "com.example.photos.*"), MetricLabel("reason", "quarantined"),
    ],
    Names.Metric.lastSuccess: [MetricLabel("definition", "com.example.photos.*")],
    Names.Metric.submissionsRefused: [MetricLabel("code", "unavailable")],
    Names.Metric.launches: [
      MetricLabel("definition", "com.example.photos.*"), MetricLabel("outcome", "expired"),
      MetricLabel("reason", "hostBusy"),
    ],
    Names.Metric.transfers: [MetricLabel("state", "running")],
    Names.Metric.transfersEnded: [MetricLabel("outcome", "failed"), MetricLabel("reason", "wrongHash")],
    Names.Metric.spansDropped: [MetricLabel("reason", "full")],
    Names.Metric.seriesRefused: [MetricLabel("metric", "other")],
    Names.Metric.buildInfo: [MetricLabel("version", "1.0.0")],
  ]

  private static let families = MetricDescription.baton.map { description in
    let value: MetricFamily.Value =
      switch description.kind {
      case .counter, .gauge: .number(1)
      case .histogram(let bounds): .histogram(MetricsFixture.counts(bounds, [bounds[0], bounds[1] * 1.5]))
      }
    return MetricFamily(description, [MetricFamily.Sample(labels[description.name] ?? [], value)])
  }

  @Test("The example is what this version shows")
  func example() throws {
    let text = MetricsFixture.snapshot(Self.families).prometheusText
    if ProcessInfo.processInfo.environment["BATON_RECORD"] == "1" { try Data(text.utf8).write(to: Self.path) }
    #expect(try String(decoding: Data(contentsOf: Self.path), as: UTF8.self) == text)
  }

  @Test("The page of metrics has a row for each metric, with its kind")
  func page() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Documentation/reference/metrics.md").standardizedFileURL
    let page = try String(decoding: Data(contentsOf: path), as: UTF8.self)
    for description in MetricDescription.baton {
      let kind =
        switch description.kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
      #expect(page.contains("\n| `\(description.name)` | \(kind) | "))
    }
  }
}
