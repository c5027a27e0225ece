package import BatonTelemetry
package import BatonWire
package import Hummingbird
package import Logging
import NIOCore
import ServiceLifecycle

/// The HTTP side of a daemon, on loopback: `/healthz` answers while the process runs, `/readyz` says whether it can do
/// its work, `/metrics` shows its metrics, and a daemon can add routes of its own.
///
/// `/metrics` names definitions, and every user of the machine can connect: so it needs the fleet's metrics token
/// (`Authorization: Bearer TOKEN`). The fleet's own token is not taken there: what is sent again and again over TCP comes
/// to the program of another user that took the port. `/metrics` also needs a loopback `Host`, so that no page in a browser
/// reads it under a name of its own that was made to point here. `/healthz` and `/readyz` need neither.
///
/// Connections go through `door`. A request is answered before its body is read, where the answer is a refusal, and a
/// connection that goes on sending a body that was not asked for is closed (`RequestLimit`).
package struct HTTPService: Service {
  package typealias Routes = Router<BasicRequestContext>
  /// Gives what `/metrics` shows, as `MetricsReader.snapshot` does.
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
  ///   - endpoint: port 0 takes a free one.
  ///   - socket: the path of a Unix socket to listen on in place of `endpoint`.
  ///   - metricsToken: that `/metrics` asks for (`MetricsToken`), read with each request; nil, and nothing is shown.
  ///   - door: admits connections; nil for one that this process has descriptors for.
  ///   - metrics: nil, and there is no such route.
  ///   - idleTimeout: a connection over which nothing comes for so long is closed: half a request would stay for ever.
  ///   - routes: adds to the others.
  ///   - onListening: is told the address, with the port that was taken.
  /// - Throws: `ListenError` if `endpoint` is not on loopback: without TLS nothing else is listened on.
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
  /// - Throws: `ListenError` if it cannot listen.
  package func run() async throws {
    var quiet = logger
    // What goes wrong is thrown; at a shutdown it would complain of its own cancelled tasks.
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
    "/metrics takes the metrics token and no other: send 'Authorization: Bearer TOKEN' with the text of the file "
    + "metrics-token in the coordinator's data folder. Do not send the fleet's token here, another user's program may "
    + "listen in this one's place"

  private static func answer(
    _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
  ) -> Response {
    Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
