import BatonTelemetry
import Testing

/// Every metric that Baton has.
@Suite struct MetricDescriptionTests {
  @Test("Each is described once, in one sentence", arguments: MetricDescription.baton)
  func help(description: MetricDescription) {
    #expect(MetricDescription.baton.filter { $0.name == description.name }.count == 1)
    #expect(MetricDescription.of(description.name) == description)
    #expect(description.help.hasSuffix(".") && description.help.count < 120 && !description.help.contains("\n"))
  }

  @Test("A counter, and nothing else, ends in `_total`; names are in base units", arguments: MetricDescription.baton)
  func names(description: MetricDescription) {
    #expect(description.name.hasPrefix("baton_") || description.name.hasPrefix("process_"))
    #expect((description.kind == .counter) == description.name.hasSuffix("_total"))
    #expect(MetricName.metric(description.name) == description.name)
    for unit in ["milliseconds", "_ms", "minutes", "kilobytes"] { #expect(!description.name.contains(unit)) }
  }

  @Test("The bounds of a histogram rise and are finite", arguments: MetricDescription.baton)
  func bounds(description: MetricDescription) {
    guard case .histogram(let bounds) = description.kind else { return }
    #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 } && bounds.allSatisfy(\.isFinite) && !bounds.isEmpty)
  }

  @Test(
    "The unit for OTLP is the unit in the name",
    arguments: [
      (Names.Metric.launchDuration, "s"), (Names.Metric.processCPU, "s"), (Names.Metric.checkpointBytes, "By"),
      (Names.Metric.processResidentMemory, "By"), (Names.Metric.launches, "1"), (Names.Metric.commitOperations, "1"),
    ])
  func units(name: String, unit: String) { #expect(MetricDescription.of(name)?.unit == unit) }
}
