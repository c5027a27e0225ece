import BatonBase

/// The settings of telemetry, as the `OTEL_*` environment variables state them. This type is a value: it takes the
/// variables as a dictionary and does not read the environment of the process.
///
/// An empty variable counts as unset. A variable that cannot be read counts as unset too, and adds a warning. Source:
/// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables.
package struct TelemetrySettings: Hashable, Sendable {
  /// `OTEL_SDK_DISABLED`: if true, nothing is exported, even if other variables name exporters.
  package var isDisabled = false
  package var traces = SignalSettings(signal: .traces)
  package var metrics = SignalSettings(signal: .metrics)
  package var sampler = Sampler()
  package var batch = BatchLimits()
  package var span = SpanLimits()
  /// The longest time from the first attempt to send a batch to the start of its last attempt. It also bounds how long
  /// a shutdown waits for spans that have not been sent.
  package var exportTimeout = Duration.seconds(30)
  /// The attributes of `OTEL_RESOURCE_ATTRIBUTES`, and `OTEL_SERVICE_NAME` as `service.name`, which takes precedence.
  package var resourceAttributes: [Attribute] = []
  /// Warnings about variables that could not be read. The daemon logs them once, at its start. A warning never contains
  /// the value of a header, which may be a secret.
  package var warnings: [SettingsWarning] = []

  package init() {}
}

/// Where and how one signal (traces or metrics) is exported.
package struct SignalSettings: Hashable, Sendable {
  package enum Signal: String, Hashable, Sendable, CaseIterable {
    case traces = "TRACES"
    case metrics = "METRICS"

    /// The path that is appended to the general endpoint to make the signal's own endpoint.
    package var path: String {
      switch self {
      case .traces: "v1/traces"
      case .metrics: "v1/metrics"
      }
    }

    /// The exporters that this signal can have. `none` is not in the list.
    var exporters: [Exporter] {
      switch self {
      case .traces: [.otlp, .console, .file]
      case .metrics: [.otlp, .console, .file, .prometheus]
      }
    }
  }

  package enum Exporter: String, Hashable, Sendable, CaseIterable {
    case otlp
    /// Writes OTLP JSON to standard output.
    case console
    /// Appends OTLP JSON to `file`. The specification has no name for this exporter in the environment; in its
    /// configuration files the name is `otlp_file` (https://opentelemetry.io/docs/specs/otel/protocol/file-exporter).
    case file = "otlp_file"
    /// The page `/metrics`, for metrics only. The page is served even if this exporter is not named.
    case prometheus
  }

  package enum Compression: String, Hashable, Sendable, CaseIterable {
    case none
    case gzip
  }

  /// An HTTP header that is sent with each request.
  package struct Header: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  /// The exporters of the signal. The list is empty if the signal is off: neither an endpoint nor an exporter is set,
  /// `none` is named, or `OTEL_SDK_DISABLED` is true.
  package var exporters: [Exporter] = []
  /// The complete URL, including the path.
  package var endpoint: String
  package var headers: [Header] = []
  /// How request bodies are compressed. The specification leaves the default open. Baton's default is gzip, which every
  /// OTLP server must understand; it reduces spans to about a seventh of their size. The default for a loopback
  /// endpoint is no compression: there it would only cost time, a third of the whole time of sending, and the default
  /// endpoint is loopback. `OTEL_EXPORTER_OTLP_COMPRESSION` overrides the default.
  package var compression = Compression.none
  /// The timeout of one request. A value of 0 in the environment means "no limit" and becomes 24 days here.
  package var timeout = Duration.seconds(10)
  /// The path of a PEM file with the certificates to trust in place of the system's certificates; `nil` to trust the
  /// system's.
  package var certificate: String?
  /// The path to which the exporter `otlp_file` writes. It is read from `OTEL_EXPORTER_OTLP[_TRACES|_METRICS]_FILE`,
  /// which is a variable of Baton, not of the specification.
  package var file: String?

  package init(signal: Signal) { endpoint = "http://localhost:4318/\(signal.path)" }

  package var isOn: Bool { !exporters.isEmpty }
}

/// A variable that could not be read, and what is used in its place.
package struct SettingsWarning: Hashable, Sendable, CustomStringConvertible {
  package var variable: String
  package var message: String

  package init(_ variable: String, _ message: String) { (self.variable, self.message) = (variable, message) }

  package var description: String { "\(variable): \(message)" }
}
