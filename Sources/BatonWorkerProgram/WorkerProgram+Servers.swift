import BatonBase
import BatonHTTP
import BatonTelemetry
import BatonWire
import BatonWorker
import Logging
import ServiceLifecycle

extension WorkerProgram {
  /// The servers for health and for metrics.
  func servers(
    _ addresses: Addresses, _ worker: Worker, _ telemetry: WorkerTelemetry, _ logger: Logger
  ) throws -> [any Service] {
    var services: [any Service] = []
    let readiness: @Sendable () async -> DaemonReadiness = {
      worker.isConnected ? .ready : .notReady("the worker is not connected to a coordinator: look at its log")
    }
    if let http = addresses.http {
      services.append(
        try HTTPService(
          .plain(http), readiness: readiness, logger: logger,
          onListening: { if let address = $0 { say("health is on http://\(address)") } }))
    }
    if let https = addresses.https {
      let certificate = HostServerCertificate(dataFolder: configuration.dataFolder)
      // A host that has not joined learns it at the start, and not from its first client.
      _ = try certificate.context()
      let file = configuration.metricsTokenFile
      if file == nil { _ = try TokenFile.ownForMetrics(dataFolder: configuration.dataFolder) }
      let route = WorkerMetricsRoute(reader: telemetry.reader) { [folder = configuration.dataFolder] in
        if let file { return try? TokenFile.read(file, port: 0) }
        return try? TokenFile.ownForMetrics(dataFolder: folder)
      }
      services.append(
        try HTTPService(
          .tls(https, { try certificate.context() }), readiness: readiness, logger: logger,
          routes: { route.add(to: $0) },
          onListening: { if let address = $0 { say("metrics are on https://\(address)") } }))
    }
    return services
  }
}
