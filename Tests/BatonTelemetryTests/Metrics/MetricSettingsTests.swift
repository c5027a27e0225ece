import BatonTelemetry
import Testing

@Suite struct MetricSettingsTests {
  @Test("Without a variable metrics are sent every 60 s")
  func usual() {
    #expect(MetricSettings(environment: [:]) == MetricSettings())
    #expect(MetricSettings().interval == .seconds(60))
    #expect(MetricSettings(environment: ["OTEL_METRIC_EXPORT_INTERVAL": " "]) == MetricSettings())
  }

  @Test("The interval is in milliseconds")
  func interval() {
    let settings = MetricSettings(environment: ["OTEL_METRIC_EXPORT_INTERVAL": "1500"])
    #expect(settings.interval == .milliseconds(1500))
    #expect(settings.warnings == [])
  }

  @Test("What is no interval is a warning, and 60 s", arguments: ["0", "-1", "60s", "1e3", "99999999999"])
  func wrong(text: String) {
    let settings = MetricSettings(environment: ["OTEL_METRIC_EXPORT_INTERVAL": text])
    #expect(settings.interval == .seconds(60))
    #expect(settings.warnings.map(\.variable) == ["OTEL_METRIC_EXPORT_INTERVAL"])
  }
}
