package import BatonTelemetry
import BatonWire
import Hummingbird

/// `GET /metrics` of a worker. The metrics name definitions, so the call needs the host's metrics token.
package struct WorkerMetricsRoute: Sendable {
  let reader: MetricsReader
  /// The token, read again for each request. If it is `nil`, all requests are refused.
  let token: @Sendable () -> String?

  package init(reader: MetricsReader, token: @escaping @Sendable () -> String?) {
    (self.reader, self.token) = (reader, token)
  }

  package func add(to router: HTTPService.Routes) {
    router.get("/metrics") { request, _ in
      guard let token = token(), Secret.isEqual(request.headers[.authorization] ?? "", "Bearer \(token)") else {
        return Response(
          .unauthorized,
          "/metrics of a worker needs its metrics token: send 'Authorization: Bearer TOKEN' with the text of the file "
            + "metrics-token in the worker's data folder, or of metricsTokenFile\n")
      }
      return Response(.ok, await reader.snapshot().prometheusText, type: MetricsSnapshot.prometheusType)
    }
  }
}
