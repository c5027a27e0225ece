import BatonBase
package import BatonTelemetry
package import Logging
internal import NIOSSL
package import ServiceLifecycle

/// The exporters, the tracer and the span queue of a daemon, made from its settings. A signal that is off has no
/// exporter and costs nothing.
package struct Telemetry: Sendable {
  package let settings: TelemetrySettings
  package let resource: Resource
  /// The destination for spans that are sent without the tracer, as the coordinator sends spans from the rows of its
  /// store; `nil` if traces are off.
  package let traces: (any OTLPSending)?
  /// The destination for metrics; `nil` if metrics are off or only scraped.
  package let metrics: (any OTLPSending)?
  /// The tracer to bootstrap; `nil` if traces are off. Then no tracer is bootstrapped, and spans are no-ops.
  package let tracer: BatonTracer?
  /// The queue to which `tracer` sends its spans; `nil` if traces are off.
  package let spans: SpanQueue?
  /// Counts the spans that `spans` dropped. It exists even if traces are off.
  package let drops: SpanDrops
  /// The services to run. Start them before, and so shut them down after, all services that make spans or metrics.
  package let services: [any Service]
  /// Warnings about the settings. The daemon logs them once, at its start.
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

/// Makes the exporters, and collects their HTTP clients, which have to be shut down at the end.
private struct Assembly {
  let logger: Logger
  var clients: [ExporterClient] = []
  var warnings: [SettingsWarning] = []

  init(logger: Logger) { self.logger = logger }

  /// All exporters of a signal as one destination, with the backend first; `nil` if the signal has no exporter.
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

/// Runs a worker's span queue. On shutdown, the queue sends the spans that remain.
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

/// Closes the exporters' connections when all other services have ended.
private struct ExporterClients: Service {
  let clients: [ExporterClient]

  func run() async throws {
    // After a cancellation the clients have to be shut down as after a graceful shutdown.
    try? await gracefulShutdown()
    for client in clients { await client.shutDown() }
  }
}
