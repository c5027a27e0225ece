package import BatonTelemetry
package import BatonWire
package import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle

/// The HTTP server of a daemon, on loopback. `/healthz` answers as long as the process runs, `/readyz` says whether the
/// daemon can do its work, `/metrics` shows its metrics, and a daemon can add routes of its own.
///
/// `/metrics` contains the names of definitions, and every user of the machine can connect. Therefore it requires the
/// fleet's metrics token (`Authorization: Bearer TOKEN`). It does not accept the fleet's own token: a token that is
/// sent repeatedly over TCP would reach the program of another user if that program took the port. `/metrics` also
/// requires a loopback `Host` header, so that a page in a browser cannot read it under a host name that was made to
/// point to this machine. `/healthz` and `/readyz` require neither.
///
/// Connections are admitted by `door`. A request that is refused is answered before its body is read, and a connection
/// that sends a larger body than any route takes is closed (`RequestLimit`).
package struct HTTPService: Service {
  package typealias Routes = Router<BasicRequestContext>
  /// Provides the metrics for `/metrics`, as `MetricsReader.snapshot` does.
  package typealias Metrics = @Sendable () async -> MetricsSnapshot

  private let endpoint: HostPort
  private let socket: String?
  private let metricsToken: @Sendable () -> String?
  private let door: Door
  private let isReady: @Sendable () async -> Bool
  private let metrics: Metrics?
  private let idleTimeout: Duration
  private let logger: Logger
  private let routes: @Sendable (Routes) -> Void
  private let onListening: @Sendable (HostPort) -> Void

  /// - Parameters:
  ///   - endpoint: the loopback address to listen on; port 0 takes a free port.
  ///   - socket: the path of a Unix socket to listen on in place of `endpoint`.
  ///   - metricsToken: the token that `/metrics` requires (`MetricsToken`), read again for each request. If it is
  ///     `nil`, all requests are refused.
  ///   - door: admits connections; `nil` for a door with the share of this process's file descriptors for HTTP.
  ///   - isReady: whether the daemon can do its work.
  ///   - metrics: provides the metrics; `nil` to have no route `/metrics`.
  ///   - idleTimeout: how long a connection may be silent before it is closed. Without this limit, half a request could
  ///     hold a connection for ever.
  ///   - routes: adds further routes.
  ///   - onListening: is called with the address, including the port that was taken.
  /// - Throws: `ListenError` if `endpoint` is not on loopback: without TLS the service listens on nothing else.
  package init(
    _ endpoint: HostPort, socket: String? = nil, metricsToken: @escaping @Sendable () -> String?, door: Door? = nil,
    isReady: @escaping @Sendable () async -> Bool, metrics: Metrics?,
    idleTimeout: Duration = .seconds(60), logger: Logger, routes: @escaping @Sendable (Routes) -> Void = { _ in },
    onListening: @escaping @Sendable (HostPort) -> Void = { _ in }
  ) throws {
    guard endpoint.isLoopback else { throw ListenError(notLoopback: endpoint) }
    (self.endpoint, self.isReady, self.metrics, self.idleTimeout) = (endpoint, isReady, metrics, idleTimeout)
    (self.socket, self.metricsToken) = (socket, metricsToken)
    self.door = door ?? Door(DescriptorBudget.current.http, what: "\(endpoint)", logger: logger)
    (self.logger, self.routes, self.onListening) = (logger, routes, onListening)
  }

  /// Serves until the graceful shutdown.
  ///
  /// - Throws: `ListenError` if it cannot listen on the address.
  package func run() async throws {
    var quiet = logger
    // Failures are thrown. Without this the server would log its own cancelled tasks at each shutdown.
    quiet.logLevel = .critical
    let application = Application(
      router: router,
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [door.requestHandler(), RequestLimit()], idleTimeout: TimeAmount(idleTimeout))),
      configuration: ApplicationConfiguration(
        address: socket.map { .unixDomainSocket(path: $0) } ?? .hostname(endpoint.host, port: endpoint.port),
        serverName: "baton"),
      onServerRunning: { [endpoint, onListening] channel in
        onListening(HostPort(host: endpoint.host, port: channel.localAddress?.port ?? endpoint.port))
      }, logger: quiet)
    try await ListenError.naming(endpoint) { try await application.run() }
  }

  var router: Routes {
    let router = Routes()
    router.get("/healthz") { _, _ in Self.answer(.ok, "ok\n") }
    router.get("/readyz") { [isReady] _, _ in
      await isReady() ? Self.answer(.ok, "ready\n") : Self.answer(.serviceUnavailable, "not ready\n")
    }
    if let metrics {
      router.get("/metrics") { [metricsToken] request, _ in
        guard request.isForLoopback else { return Self.answer(.misdirectedRequest, Request.notForLoopback + "\n") }
        guard request.shows(metricsToken()) else { return Self.answer(.unauthorized, Self.noMetricsToken + "\n") }
        return Self.answer(.ok, await metrics().prometheusText, type: MetricsSnapshot.prometheusType)
      }
    }
    routes(router)
    return router
  }

  private static let noMetricsToken =
    "/metrics requires the metrics token: send 'Authorization: Bearer TOKEN' with the text of the file metrics-token "
    + "in the coordinator's data folder. Do not send the fleet's own token to this port: a program of another user "
    + "may have taken it"

  private static func answer(
    _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
