/// What the environment says of metrics beside `SignalSettings`, and how much of them there may be.
/// Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#periodic-exporting-metricreader.
package struct MetricSettings: Hashable, Sendable {
  /// `OTEL_METRIC_EXPORT_INTERVAL`, in milliseconds: from the start of one export by OTLP to the start of the next.
  package var interval = Duration.seconds(60)
  /// How long a collection is shown again to others who ask: whoever scrapes more often gets the same numbers.
  package var reuse = Duration.seconds(1)
  /// Definitions that have series of their own; the rest is summed under `other`.
  package var definitions = 500
  package var limits = MetricLimits()
  /// To be logged once, at start.
  package var warnings: [SettingsWarning] = []

  package init() {}

  /// Reads everything, whatever it is: what cannot be read is in `warnings`.
  package init(environment: [String: String]) {
    var reader = EnvironmentReader(environment)
    let usual = Int(interval / .milliseconds(1))
    interval = .milliseconds(reader.number("OTEL_METRIC_EXPORT_INTERVAL", atLeast: 1, otherwise: usual))
    warnings = reader.warnings
  }
}
