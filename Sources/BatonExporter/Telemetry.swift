package import BatonTelemetry
package import Logging
internal import NIOSSL
package import ServiceLifecycle

/// What a daemon needs to send spans and metrics, made from its settings.
///
/// Traces and metrics that are off cost nothing and have no exporter here.
package struct Telemetry: Sendable {
  package let settings: TelemetrySettings
  package let resource: Resource
  /// Where spans go that are sent by hand, as the coordinator does from its rows; nil when traces are off.
  package let traces: (any OTLPSending)?
  /// Nil when metrics are off, or only scraped.
  package let metrics: (any OTLPSending)?
  /// To be bootstrapped; nil when traces are off: then nothing is, and spans are no-ops.
  package let tracer: BatonTracer?
  /// What `tracer` sends to; nil when traces are off.
  package let spans: SpanQueue?
  /// Counts the drops of `spans`; there in any case.
  package let drops: SpanDrops
  /// To run before, and so to be shut down after, everything that makes spans or metrics.
  package let services: [any Service]
  /// To be logged once, at start.
  package let warnings: [SettingsWarning]

  package init(_ settings: TelemetrySettings, resource: Resource, logger: Logger) {
    var assembly = Assembly(logger: logger)
    (self.settings, self.resource) = (settings, resource)
    traces = assembly.sender("traces", .traces, settings.traces)
    metrics = assembly.sender("metrics", .metrics, settings.metrics)
    let drops = SpanDrops()
    self.drops = drops
    spans = traces.map {
      SpanQueue(
        limits: settings.batch, timeout: settings.exportTimeout, resource: resource, sender: $0, drops: drops,
        logger: logger)
    }
    tracer = spans.map { BatonTracer(sampler: settings.sampler, limits: settings.span, sink: $0) }
    services = [ExporterClients(clients: assembly.clients)] + (spans.map { [SpanSender(queue: $0)] } ?? [])
    warnings = settings.warnings + assembly.warnings
  }
}

/// Makes exporters, and remembers what they have to be shut down with.
private struct Assembly {
  let logger: Logger
  var clients: [ExporterClient] = []
  var warnings: [SettingsWarning] = []

  init(logger: Logger) { self.logger = logger }

  /// All exporters of a signal as one, the backend first; nil if there is none.
  mutating func sender(
    _ what: String, _ signal: SignalSettings.Signal, _ settings: SignalSettings
  ) -> (any OTLPSending)? {
    var senders: [any OTLPSending] = []
    if settings.exporters.contains(.otlp) { senders.append(backend(what, signal, settings)) }
    if settings.exporters.contains(.file), let path = settings.file {
      senders.append(LineExporter(what, to: .file(path), logger: logger))
    }
    if settings.exporters.contains(.console) { senders.append(LineExporter(what, to: .console, logger: logger)) }
    guard let first = senders.first, senders.count > 1 else { return senders.first }
    return OTLPFanout(first, others: Array(senders.dropFirst()))
  }

  private mutating func backend(
    _ what: String, _ signal: SignalSettings.Signal, _ settings: SignalSettings
  ) -> OTLPExporter {
    let client = ExporterClient(trustRoots: settings.certificate.flatMap { certificates($0, signal) })
    clients.append(client)
    return OTLPExporter(what, settings, client: client, logger: logger)
  }

  private mutating func certificates(_ path: String, _ signal: SignalSettings.Signal) -> [NIOSSLCertificate]? {
    do {
      return try ExporterClient.certificates(inFile: path)
    } catch {
      let variable = "OTEL_EXPORTER_OTLP_CERTIFICATE or OTEL_EXPORTER_OTLP_\(signal.rawValue)_CERTIFICATE"
      warnings.append(SettingsWarning(variable, "no certificates in \(path); the system's are used"))
      return nil
    }
  }
}

/// Runs a worker's span queue, and sends what is left when it is shut down.
private struct SpanSender: Service {
  let queue: SpanQueue

  func run() async throws {
    await withGracefulShutdownHandler {
      await queue.run()
    } onGracefulShutdown: {
      queue.shutDown()
    }
  }
}

/// Closes the exporters' connections after everybody else has ended.
private struct ExporterClients: Service {
  let clients: [ExporterClient]

  func run() async throws {
    // A cancellation is an end like any other.
    try? await gracefulShutdown()
    for client in clients { await client.shutDown() }
  }
}
