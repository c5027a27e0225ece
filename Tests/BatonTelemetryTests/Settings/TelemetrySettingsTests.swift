import BatonModel
import Testing

@testable import BatonTelemetry

/// How the environment variables are read.
@Suite struct TelemetrySettingsTests {
  static func settings(_ environment: [String: String]) -> TelemetrySettings {
    TelemetrySettings(environment: environment)
  }

  @Test func `an empty environment is off, without a warning`() {
    let settings = Self.settings([:])
    #expect(settings == TelemetrySettings())
    #expect(!settings.traces.isOn && !settings.metrics.isOn && !settings.isDisabled)
    #expect(settings.traces.endpoint == "http://localhost:4318/v1/traces")
    #expect(settings.metrics.endpoint == "http://localhost:4318/v1/metrics")
    #expect(settings.traces.timeout == .seconds(10))
    #expect(settings.exportTimeout == .seconds(30))
    #expect(settings.sampler == Sampler(root: .always, isParentBased: true))
    #expect(settings.batch == BatchLimits(queue: 2048, batch: 512, delay: .seconds(5)))
  }

  @Test func `empty is unset`() {
    let names = [
      "OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER",
      "OTEL_METRICS_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_BSP_SCHEDULE_DELAY",
      "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    ]
    let options = ["ENDPOINT", "HEADERS", "COMPRESSION", "TIMEOUT", "PROTOCOL", "CERTIFICATE"]
    let exporter = ["", "_TRACES", "_METRICS"].flatMap { signal in
      options.map { "OTEL_EXPORTER_OTLP\(signal)_\($0)" }
    }
    for empty in ["", " "] {
      let environment = Dictionary(uniqueKeysWithValues: (names + exporter).map { ($0, empty) })
      #expect(Self.settings(environment) == TelemetrySettings())
    }
  }

  @Test(
    arguments: [
      ("http://c:4318", "http://c:4318/v1/traces"), ("http://c:4318/", "http://c:4318/v1/traces"),
      ("https://c/otlp/", "https://c/otlp/v1/traces"), ("HTTP://c//", "HTTP://c/v1/traces"),
      ("http://c/a?key=1", "http://c/a/v1/traces?key=1"), ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
      (" http://c ", "http://c/v1/traces"), ("http://u:p@c", "http://u:p@c/v1/traces"),
    ])
  func `the general endpoint is a base`(base: String, endpoint: String) {
    let settings = Self.settings(["OTEL_EXPORTER_OTLP_ENDPOINT": base])
    #expect(settings.traces.endpoint == endpoint)
    #expect(settings.metrics.endpoint == endpoint.replacing("/v1/traces", with: "/v1/metrics"))
    #expect(settings.traces.exporters == [.otlp] && settings.metrics.exporters == [.otlp])
    #expect(settings.warnings == [])
  }

  @Test func `the specific endpoint is used as it is, and only for its signal`() {
    let own = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1/x/"]
    #expect(Self.settings(own).traces.endpoint == "http://t:1/x/")
    #expect(Self.settings(own).traces.isOn)
    #expect(!Self.settings(own).metrics.isOn)
    let both = Self.settings(own.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": "http://b"]) { $1 })
    #expect(both.traces.endpoint == "http://t:1/x/")
    #expect(both.metrics.endpoint == "http://b/v1/metrics")
  }

  @Test(arguments: [
    "collector:4318", "grpc://c", "http://", "http:///v1", "http://:4318", "http://c:port", "http://c:65536",
    "http://a b",
    "http://[::1", "http://[::1]4318", "http://c\n", "http://ü", "http://c:", "http://u@",
  ])
  func `an endpoint that is no URL is a warning, and unset`(text: String) {
    let settings = Self.settings(["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": text, "OTEL_METRICS_EXPORTER": "otlp"])
    #expect(!settings.traces.isOn)
    #expect(settings.metrics.isOn)
    #expect(settings.warnings.map(\.variable) == ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
  }

  @Test(
    arguments: [
      ("otlp", [.otlp], [.otlp], 0), ("console", [.console], [.console], 0), ("none", [], [], 0),
      ("otlp, console", [.otlp, .console], [.otlp, .console], 0), ("otlp,otlp,", [.otlp], [.otlp], 0),
      ("prometheus", [], [.prometheus], 1), ("otlp,prometheus", [.otlp], [.otlp, .prometheus], 1),
      ("zipkin", [], [], 2), ("OTLP", [], [], 2), ("none,otlp", [], [], 2), (",", [], [], 0),
    ] as [(String, [SignalSettings.Exporter], [SignalSettings.Exporter], Int)])
  func `exporters that are named`(
    text: String, traces: [SignalSettings.Exporter], metrics: [SignalSettings.Exporter], warnings: Int
  ) {
    let settings = Self.settings(["OTEL_TRACES_EXPORTER": text, "OTEL_METRICS_EXPORTER": text])
    #expect(settings.traces.exporters == traces)
    #expect(settings.metrics.exporters == metrics)
    #expect(settings.warnings.count == warnings)
  }

  @Test func `an endpoint does not turn on what is named none, but what is named wrongly`() {
    let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"]
    let settings = Self.settings(
      endpoint.merging(["OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "zipkin"]) { $1 })
    #expect(settings.traces.exporters == [])
    #expect(settings.metrics.exporters == [.otlp])
    #expect(
      settings.warnings.map(\.description) == [
        "OTEL_METRICS_EXPORTER: `zipkin` is not one of otlp, console, otlp_file, prometheus, none; it is ignored"
      ])
  }

  @Test(arguments: [
    ("true", true, 0), ("TRUE", true, 0), ("false", false, 0), ("False", false, 0), ("1", false, 1), ("yes", false, 1),
  ])
  func `all is off when the SDK is disabled, and only by true`(text: String, isDisabled: Bool, warnings: Int) {
    let settings = Self.settings(["OTEL_SDK_DISABLED": text, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"])
    #expect(settings.isDisabled == isDisabled)
    #expect(settings.traces.isOn != isDisabled && settings.metrics.isOn != isDisabled)
    #expect(settings.warnings.count == warnings)
  }

  @Test(
    arguments: [
      ("a=b", [("a", "b")], 0), (" a = b , c = d=e ", [("a", "b"), ("c", "d=e")], 0),
      ("Authorization=Bearer%20x%3D,", [("Authorization", "Bearer x=")], 0), ("a=", [("a", "")], 0),
      ("a=%C3%BC", [("a", "ü")], 0), ("a,b=c", [("b", "c")], 1), ("=b", [], 1), ("a=%zz,b=%2,c=%", [], 3),
      ("a=%ff", [], 1), ("a=x%0d%0aEvil: 1", [], 1), ("a b=c", [], 1), ("ü=c", [], 1), ("a=1+1", [("a", "1+1")], 0),
    ] as [(String, [(String, String)], Int)])
  func `headers are percent-decoded, and what is no header is left out`(
    text: String, headers: [(String, String)], warnings: Int
  ) {
    let settings = Self.settings(["OTEL_EXPORTER_OTLP_TRACES_HEADERS": text])
    #expect(settings.traces.headers == headers.map { .init($0.0, $0.1) })
    #expect(settings.metrics.headers == [])
    #expect(settings.warnings.count == warnings)
    #expect(settings.warnings.allSatisfy { $0.variable == "OTEL_EXPORTER_OTLP_TRACES_HEADERS" })
  }

  @Test func `a warning about a header does not give its secret away`() {
    let settings = Self.settings(["OTEL_EXPORTER_OTLP_HEADERS": "token secret"])
    #expect(settings.warnings.count == 1, "said once, though both signals read it")
    #expect(!settings.warnings.description.contains("secret"))
  }

  @Test func `a signal's own option replaces the general one`() {
    let general = [
      "HEADERS": "a=1", "COMPRESSION": "gzip", "TIMEOUT": "1500", "CERTIFICATE": "/a.pem", "PROTOCOL": "http/protobuf",
    ]
    let own = ["HEADERS": "b=2", "COMPRESSION": "none", "TIMEOUT": "0", "CERTIFICATE": "/b.pem", "PROTOCOL": "grpc"]
    var environment: [String: String] = [:]
    for (option, value) in general { environment["OTEL_EXPORTER_OTLP_\(option)"] = value }
    for (option, value) in own { environment["OTEL_EXPORTER_OTLP_METRICS_\(option)"] = value }
    let settings = Self.settings(environment)
    var (traces, metrics) = (SignalSettings(signal: .traces), SignalSettings(signal: .metrics))
    (traces.headers, traces.compression, traces.timeout, traces.certificate) = (
      [.init("a", "1")], .gzip, .milliseconds(1500), "/a.pem"
    )
    (metrics.headers, metrics.compression, metrics.timeout, metrics.certificate) = (
      [.init("b", "2")], .none, .milliseconds(Int32.max), "/b.pem"
    )
    #expect(settings.traces == traces)
    #expect(settings.metrics == metrics)
    #expect(
      settings.warnings.map(\.description) == [
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: `grpc` is not supported; http/protobuf is used"
      ])
  }

  @Test(
    arguments: [
      ("OTEL_EXPORTER_OTLP_TIMEOUT", "-1"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
      ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
      ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "x"),
      ("OTEL_TRACES_SAMPLER", "xray"),
      ("OTEL_TRACES_SAMPLER_ARG", "0.5"), ("OTEL_BSP_SCHEDULE_DELAY", "5.5"), ("OTEL_BSP_SCHEDULE_DELAY", "2147483648"),
      ("OTEL_BSP_EXPORT_TIMEOUT", "-1"), ("OTEL_BSP_MAX_QUEUE_SIZE", "0"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "0"),
      ("OTEL_RESOURCE_ATTRIBUTES", "a=b,c"), ("OTEL_RESOURCE_ATTRIBUTES", "a=%"), ("OTEL_SDK_DISABLED", "on"),
    ])
  func `what cannot be read is one warning that names it, and counts as unset`(variable: String, value: String) {
    var settings = Self.settings([variable: value])
    #expect(settings.warnings.map(\.variable) == [variable])
    settings.warnings = []
    #expect(settings == TelemetrySettings())
  }

  @Test(
    arguments: [
      ([:], BatchLimits(), 0), (["MAX_QUEUE_SIZE": "100"], BatchLimits(queue: 100, batch: 100), 0),
      (["MAX_QUEUE_SIZE": "4096", "MAX_EXPORT_BATCH_SIZE": "1024"], BatchLimits(queue: 4096, batch: 1024), 0),
      (["MAX_QUEUE_SIZE": "10", "MAX_EXPORT_BATCH_SIZE": "11"], BatchLimits(queue: 10, batch: 10), 1),
      (["SCHEDULE_DELAY": "0"], BatchLimits(delay: .zero), 0),
      (["SCHEDULE_DELAY": "250"], BatchLimits(delay: .milliseconds(250)), 0),
    ] as [([String: String], BatchLimits, Int)])
  func `limits of the queue`(options: [String: String], limits: BatchLimits, warnings: Int) {
    let settings = Self.settings(Dictionary(uniqueKeysWithValues: options.map { ("OTEL_BSP_\($0)", $1) }))
    #expect(settings.batch == limits)
    #expect(settings.warnings.count == warnings)
  }

  @Test func `spans are bounded, each list by its own variable or else the general one`() {
    #expect(Self.settings([:]).span == SpanLimits())
    var limits = SpanLimits()
    (limits.attributes, limits.attributesPerEvent, limits.attributesPerLink) = (9, 5, 6)
    (limits.events, limits.links, limits.valueLength) = (7, 8, 100)
    let settings = Self.settings([
      "OTEL_ATTRIBUTE_COUNT_LIMIT": "5", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "9", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT": "6",
      "OTEL_SPAN_EVENT_COUNT_LIMIT": "7", "OTEL_SPAN_LINK_COUNT_LIMIT": "8", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100",
    ])
    #expect(settings.span == limits && settings.warnings == [])
    let own = ["OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "200"]
    #expect(Self.settings(own).span.valueLength == 200)
    #expect(Self.settings(["OTEL_SPAN_EVENT_COUNT_LIMIT": "many"]).warnings.count == 1)
  }

  @Test(arguments: [
    "http://backend:4318", "https://127.example.com", "http://localhost.example.com/", "http://[::2]:4318",
  ])
  func `requests are compressed unless that is turned off`(url: String) {
    let settings = Self.settings(["OTEL_EXPORTER_OTLP_ENDPOINT": url])
    #expect(settings.traces.compression == .gzip && settings.metrics.compression == .gzip)
    let off = Self.settings(["OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"])
    #expect(off.traces.compression == .none && off.metrics.compression == .none && off.warnings == [])
  }

  @Test(arguments: [
    "http://localhost:4318", "http://127.0.0.1:4318/", "http://me@127.1.2.3", "https://[::1]:4318/otlp",
  ])
  func `to this host itself they are not compressed unless that is asked for`(url: String) {
    #expect(Self.settings(["OTEL_EXPORTER_OTLP_ENDPOINT": url]).traces.compression == .none)
    let on = Self.settings(["OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip"])
    #expect(on.traces.compression == .gzip && on.metrics.compression == .none && on.warnings == [])
  }

  @Test func `a file is an exporter that needs a path`() {
    let path = ["OTEL_EXPORTER_OTLP_FILE": "/a", "OTEL_EXPORTER_OTLP_TRACES_FILE": "/t"]
    #expect(!Self.settings(path).traces.isOn)
    let named = ["OTEL_TRACES_EXPORTER": "otlp_file", "OTEL_METRICS_EXPORTER": "otlp_file,console"]
    let settings = Self.settings(path.merging(named) { $1 })
    #expect(settings.traces.exporters == [.file] && settings.traces.file == "/t")
    #expect(settings.metrics.exporters == [.file, .console] && settings.metrics.file == "/a")
    let without = Self.settings(named)
    #expect(without.traces.exporters == [] && without.metrics.exporters == [.console])
    #expect(without.warnings.map(\.variable) == ["OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"])
  }

  @Test(
    arguments: [
      ("http://c:4318/v1/traces", "http://c:4318/v1/traces"), ("https://u:p@c/a?key=1#x", "https://c/a"),
      ("http://[::1]:1", "http://[::1]:1"), ("http://u:p/@c", "http://u:p/@c"),
    ])
  func `the log has an endpoint without what may be secret in it`(url: String, shown: String) {
    #expect(Endpoint.shown(url) == shown)
  }

  @Test func `resource attributes are decoded, the later of two counts, and the service's name has its own variable`() {
    let attributes = ["OTEL_RESOURCE_ATTRIBUTES": "service.name=a,team=a%2Cb,team=c%3D, k%20=v"]
    #expect(
      Self.settings(attributes).resourceAttributes == [
        Attribute("service.name", "a"), Attribute("team", "c="), Attribute("k ", "v"),
      ])
    let both = Self.settings(attributes.merging(["OTEL_SERVICE_NAME": "mine"]) { $1 })
    #expect(both.resourceAttributes.first == Attribute("service.name", "mine"))
    #expect(both.resourceAttributes.count == 3)
    #expect(Self.settings(["OTEL_SERVICE_NAME": "s"]).resourceAttributes == [Attribute("service.name", "s")])
  }
}
