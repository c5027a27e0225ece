import BatonHTTP
package import BatonStore
package import BatonTelemetry
package import BatonWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix
package import Logging
import ServiceLifecycle

/// A coordinator that listens: gRPC for workers and operators, HTTP for health and pokes.
package struct CoordinatorServer: Service {
  package let coordinator: Coordinator
  let grpc: HostPort
  /// Nil switches HTTP off.
  let http: HostPort?
  let token: String
  let logger: Logger
  /// Called once it listens, with the addresses.
  /// What `/metrics` shows; nil, and there is no such page.
  let metrics: MetricsReader?
  private let readiness = Signal()
  let httpReadiness = Signal()
  let onReady: @Sendable (_ grpc: HostPort, _ http: HostPort?) -> Void
  /// Called when the disk failed or another coordinator has the store, before anything is taken down; may end the process. What has been said is in the store
  /// or was never answered, so nothing is gained by saying goodbye.
  package var onDiskFailure: (@Sendable (StoreError) -> Void)?

  /// - Throws: `CoordinatorServerError` if an address is not on loopback: without TLS nothing else is listened on.
  package init(
    coordinator: Coordinator, grpc: HostPort, http: HostPort?, token: String, metrics: MetricsReader? = nil,
    logger: Logger, onReady: @escaping @Sendable (HostPort, HostPort?) -> Void = { _, _ in }
  ) throws {
    for endpoint in [grpc, http].compactMap({ $0 }) where !endpoint.isLoopback {
      throw CoordinatorServerError(
        .notPermitted,
        "\(endpoint) is not loopback, and without TLS Baton listens on loopback only: listen on 127.0.0.1:\(endpoint.port) "
          + "and forward the port over ssh (ssh -R \(endpoint.port):127.0.0.1:\(endpoint.port) HOST)")
    }
    self.coordinator = coordinator
    self.metrics = metrics
    self.grpc = grpc
    self.http = http
    self.token = token
    self.logger = logger
    self.onReady = onReady
  }

  /// Returns once it listens; for one caller.
  package func ready() async throws {
    await readiness.wait()
    try Task.checkCancellation()
  }

  /// Serves until the graceful shutdown, or until the store fails for good. The coordinator must have been restored.
  package func run() async throws {
    let server = GRPCServer(
      transport: .http2NIOPosix(
        address: Self.address(grpc), transportSecurity: .plaintext, config: Self.config, eventLoopGroup: RPCLoop.group),
      services: [WorkersService(coordinator: coordinator), OperatorsService(api: coordinator)],
      interceptors: [
        TokenInterceptor(token: token), SubmitterInterceptor(), IdentityInterceptor { SystemClocks.date() },
      ])
    // Each task says whether the service is over when it is.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask { try await serve(server) }
      group.addTask {
        do {
          try await coordinator.run()
        } catch let error as StoreError where error.endsCoordinator {
          onDiskFailure?(error)
          throw error
        }
        return true
      }
      if let http {
        group.addTask {
          try await Self.naming(http) { try await self.http(http, metrics: metrics?.snapshot).run() }
          return false
        }
      }
      group.addTask { try await shutDown(server) }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
    await coordinator.deliverRest()
  }

  private func serve(_ server: GRPCServer<HTTP2ServerTransport.Posix>) async throws -> Bool {
    try await Self.naming(grpc) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await RPCLoop.run { try await server.serve() } }
        // If it cannot listen, `serve` says why.
        guard let address = try? await server.listeningAddress, let port = address.ipv4?.port ?? address.ipv6?.port
        else { return try await group.waitForAll() }
        publish(port)
        defer { TokenFile.withdraw(token, port: port) }
        if http != nil { await httpReadiness.wait() }
        onReady(HostPort(host: grpc.host, port: port), http)
        readiness.raise()
        try await group.waitForAll()
      }
    }
    return true
  }

  /// Where the token cannot be published, clients have to be told where it is; nothing else is wrong.
  private func publish(_ port: Int) {
    do {
      try TokenFile.publish(token, port: port)
    } catch {
      logger.warning("clients of this user do not find the token by themselves, set BATON_TOKEN_FILE: \(error)")
    }
  }

  /// On a graceful shutdown workers are let go (they come back to the next coordinator within their lease), operators'
  /// calls are ended, and nothing new is taken. A call that does not end is cut off.
  private func shutDown(_ server: GRPCServer<HTTP2ServerTransport.Posix>) async throws -> Bool {
    try await gracefulShutdown()
    coordinator.stopAccepting()
    server.beginGracefulShutdown()
    try await coordinator.clocks.sleep(.seconds(3))
    return true
  }

  private static func address(_ endpoint: HostPort) -> GRPCNIOTransportHTTP2Posix.SocketAddress {
    endpoint.isIPv6
      ? .ipv6(host: endpoint.host, port: endpoint.port)
      : .ipv4(host: endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host, port: endpoint.port)
  }

  private static var config: HTTP2ServerTransport.Posix.Config {
    .defaults { config in
      config.rpc.maxRequestPayloadSize = CoordinatorClient.maximumMessageBytes
      config.http2.targetWindowSize = 8 << 20
      // Frames carry many messages; what is written then waits for nothing.
      config.connection.flushCoalescing = nil
    }
  }

  /// A failure to listen, said so that one knows what to do.
  private static func naming(_ endpoint: HostPort, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch {
      let text = String(describing: error)
      guard text.contains("EADDRINUSE") || text.contains("Address already in use") else { throw error }
      throw CoordinatorServerError(
        .addressInUse, "\(endpoint) is in use, by another coordinator? Stop it, or choose another port")
    }
  }
}
