/// What the `OTEL_*` variables of the environment say, as a value; nothing here reads the environment.
///
/// An empty variable is unset, and one that cannot be read is a warning and unset.
/// Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables.
package struct TelemetrySettings: Hashable, Sendable {
  /// `OTEL_SDK_DISABLED`: nothing is exported, whatever else is set.
  package var isDisabled = false
  package var traces = SignalSettings(signal: .traces)
  package var metrics = SignalSettings(signal: .metrics)
  package var sampler = Sampler()
  package var batch = BatchLimits()
  package var span = SpanLimits()
  /// No attempt for a batch begins later than this after the first one; and the longest that a shutdown waits for what
  /// is not sent yet.
  package var exportTimeout = Duration.seconds(30)
  /// `OTEL_RESOURCE_ATTRIBUTES`, and `OTEL_SERVICE_NAME` as `service.name`, which counts for more.
  package var resourceAttributes: [Attribute] = []
  /// To be logged once, at start. They never repeat a header's value, which may be a secret.
  package var warnings: [SettingsWarning] = []

  package init() {}
}

/// Where one signal goes.
package struct SignalSettings: Hashable, Sendable {
  package enum Signal: String, Hashable, Sendable, CaseIterable {
    case traces = "TRACES"
    case metrics = "METRICS"

    /// What is put after the general endpoint.
    package var path: String {
      switch self {
      case .traces: "v1/traces"
      case .metrics: "v1/metrics"
      }
    }

    /// The exporters that there are for it; `none` is not one.
    var exporters: [Exporter] {
      switch self {
      case .traces: [.otlp, .console, .file]
      case .metrics: [.otlp, .console, .file, .prometheus]
      }
    }
  }

  package enum Exporter: String, Hashable, Sendable, CaseIterable {
    case otlp
    /// OTLP JSON on standard output.
    case console
    /// OTLP JSON at the end of `file`. The specification has no name for it in the environment; in its configuration
    /// files it is `otlp_file` (https://opentelemetry.io/docs/specs/otel/protocol/file-exporter).
    case file = "otlp_file"
    /// Only for metrics: `/metrics`, which is there in any case.
    case prometheus
  }

  package enum Compression: String, Hashable, Sendable, CaseIterable {
    case none
    case gzip
  }

  /// A header as it is sent.
  package struct Header: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  /// Empty when the signal is off: no endpoint is set and no exporter named, `none` is named, or everything is disabled.
  package var exporters: [Exporter] = []
  /// A whole URL, path included.
  package var endpoint: String
  package var headers: [Header] = []
  /// The specification leaves the default open. Baton's is gzip, which every OTLP server has to understand: spans shrink
  /// to about a seventh. To this host itself it is none: there it would only cost time, a third of all that sending
  /// takes, and that is where a backend is that nobody names. `OTEL_EXPORTER_OTLP_COMPRESSION` says otherwise.
  package var compression = Compression.none
  /// For one request; 0 in the environment, which means no limit, is 24 days here.
  package var timeout = Duration.seconds(10)
  /// A file with the certificates to trust instead of the system's.
  package var certificate: String?
  /// Where the exporter `otlp_file` writes: `OTEL_EXPORTER_OTLP[_TRACES|_METRICS]_FILE`, a variable of Baton's own.
  package var file: String?

  package init(signal: Signal) { endpoint = "http://localhost:4318/\(signal.path)" }

  package var isOn: Bool { !exporters.isEmpty }
}

/// A variable that could not be read, and what is used instead.
package struct SettingsWarning: Hashable, Sendable, CustomStringConvertible {
  package var variable: String
  package var message: String

  package init(_ variable: String, _ message: String) { (self.variable, self.message) = (variable, message) }

  package var description: String { "\(variable): \(message)" }
}
