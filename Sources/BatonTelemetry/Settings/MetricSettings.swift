/// The settings of metrics that are not in `SignalSettings`, and the limits of the metrics' memory. Source:
/// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#periodic-exporting-metricreader.
package struct MetricSettings: Hashable, Sendable {
  /// `OTEL_METRIC_EXPORT_INTERVAL`, in milliseconds: the time from the start of one OTLP export to the start of the
  /// next.
  package var interval = Duration.seconds(60)
  /// How old a snapshot may be to be returned again. A client that scrapes more often gets the same numbers.
  package var reuse = Duration.seconds(1)
  /// How many definitions have series of their own. All other definitions are counted together, as `other`.
  package var definitions = 500
  package var limits = MetricLimits()
  /// Warnings about variables that could not be read. The daemon logs them once, at its start.
  package var warnings: [SettingsWarning] = []

  package init() {}

  /// Reads the variables of metrics. It never fails: a variable that cannot be read keeps its default and adds a
  /// warning.
  package init(environment: [String: String]) {
    var reader = EnvironmentReader(environment)
    let usual = Int(interval / .milliseconds(1))
    interval = .milliseconds(reader.number("OTEL_METRIC_EXPORT_INTERVAL", atLeast: 1, otherwise: usual))
    warnings = reader.warnings
  }
}
