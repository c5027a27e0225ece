import BatonModel
import BatonTelemetry
package import BatonWire
import HTTPTypes
package import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle

/// Whether a daemon can do its work.
package enum DaemonReadiness: Hashable, Sendable {
  case ready
  /// The reason is for people, on one line.
  case notReady(String)
}

/// The HTTP server of a daemon. `/healthz` answers as long as the process runs, and `/readyz` says whether the daemon
/// can do its work. Everything else a daemon adds, and it is served over TLS and through a Unix socket only: every user
/// of the machine can connect to a loopback port, and can take the port while the daemon is down.
///
/// Connections are admitted by `door`. A request that is refused is answered before its body is read, and a connection
/// that sends a larger body than any route takes is closed (`RequestLimit`).
package struct HTTPService: Service {
  package typealias Routes = Router<HTTPContext>

  private let listener: HTTPListener
  private let door: Door
  private let readiness: @Sendable () async -> DaemonReadiness
  private let idleTimeout: Duration
  private let largestBody: Int
  private let logger: Logger
  private let routes: @Sendable (Routes) -> Void
  private let onListening: @Sendable (HostPort?) -> Void

  /// - Parameters:
  ///   - listener: where to listen; port 0 takes a free port.
  ///   - door: admits connections; `nil` for a door with the share of this process's file descriptors for HTTP.
  ///   - largestBody: the largest body that a route takes, in bytes.
  ///   - readiness: whether the daemon can do its work.
  ///   - idleTimeout: how long a connection may be silent before it is closed. Without this limit, half a request could
  ///     hold a connection for ever.
  ///   - routes: adds what is served over TLS and through a Unix socket.
  ///   - onListening: is called with the address, including the port that was taken; `nil` for a Unix socket.
  /// - Throws: `ListenError` if an unencrypted listener is not on loopback.
  package init(
    _ listener: HTTPListener, door: Door? = nil, largestBody: Int = Submission.maximumPayloadBytes,
    readiness: @escaping @Sendable () async -> DaemonReadiness,
    idleTimeout: Duration = .seconds(60), logger: Logger, routes: @escaping @Sendable (Routes) -> Void = { _ in },
    onListening: @escaping @Sendable (HostPort?) -> Void = { _ in }
  ) throws {
    switch listener {
    case .plain(let endpoint), .own(let endpoint):
      if !endpoint.isLoopback { throw ListenError(notLoopback: endpoint) }
    case .socket, .tls: break
    }
    (self.listener, self.readiness, self.idleTimeout) = (listener, readiness, idleTimeout)
    self.largestBody = largestBody
    self.door =
      door
      ?? Door(
        DescriptorBudget.current.http, what: listener.endpoint.map { "\($0)" } ?? "the socket of HTTP", logger: logger)
    (self.logger, self.routes, self.onListening) = (logger, routes, onListening)
  }

  /// Serves until the graceful shutdown.
  ///
  /// - Throws: `ListenError` if it cannot listen on the address.
  package func run() async throws {
    var quiet = logger
    // Failures are thrown. Without this the server would log its own cancelled tasks at each shutdown.
    quiet.logLevel = .critical
    let address: BindAddress =
      switch listener {
      case .plain(let endpoint), .own(let endpoint), .tls(let endpoint, _):
        .hostname(endpoint.host, port: endpoint.port)
      case .socket(let path): .unixDomainSocket(path: path)
      }
    let application = Application(
      router: router, server: server, configuration: ApplicationConfiguration(address: address, serverName: "baton"),
      onServerRunning: { [listener, onListening] channel in
        onListening(
          listener.endpoint.map { HostPort(host: $0.host, port: channel.localAddress?.port ?? $0.port) })
      }, logger: quiet)
    guard let endpoint = listener.endpoint else { return try await application.run() }
    try await ListenError.naming(endpoint) { try await application.run() }
  }

  private var server: HTTPServerBuilder {
    HTTPServerBuilder { [listener, door, idleTimeout, largestBody] responder in
      let base = HTTP1Channel(
        responder: responder,
        configuration: .init(
          additionalChannelHandlers: [
            door.requestHandler(), RequestLimit(largestBody: largestBody), Departure(),
          ],
          idleTimeout: TimeAmount(idleTimeout)))
      guard case .tls(_, let context) = listener else { return base }
      return RenewableTLS(base: base, context: context)
    }
  }

  var router: Routes {
    let router = Routes(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.get("/healthz") { _, _ in Response(.ok, "ok\n") }
    router.get("/readyz") { [readiness] _, _ in
      switch await readiness() {
      case .ready: Response(.ok, "ready\n")
      case .notReady(let reason): Response(.serviceUnavailable, "not ready: \(reason)\n")
      }
    }
    if listener.isPlain {
      router.get("/metrics") { _, _ in Self.needsTLS }
      for method in [HTTPRequest.Method.get, .post, .put, .delete] {
        router.on("/v1/**", method: method) { _, _ in Self.needsTLS }
      }
    } else {
      routes(router)
    }
    return router
  }

  private static var needsTLS: Response {
    Response(
      .forbidden,
      "this port is not encrypted and serves /healthz and /readyz only: use the setting 'https', or the Unix socket of "
        + "the daemon's user. A credential that was sent here may have been seen by another program: replace it\n")
  }
}

/// A request, and where it comes from.
package struct HTTPContext: RequestContext {
  package var coreContext: CoreRequestContextStorage
  /// The peer of the connection, as gRPC writes it: `ipv4:192.0.2.7:50312`, or `unix`.
  package let peer: String
  let channel: any Channel

  package init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    peer = source.channel.peerName ?? "unix"
    channel = source.channel
  }
}

extension Response {
  /// A plain text.
  package init(_ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8") {
    self.init(
      status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
