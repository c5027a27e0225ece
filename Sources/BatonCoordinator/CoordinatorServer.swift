import BatonBase
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
  /// Where clients of the same user find the token and the sockets.
  let folders: RuntimeFolders
  private let door: Door
  let httpDoor: Door
  /// What `/metrics` shows; nil, and there is no such page.
  let metrics: MetricsReader?
  private let readiness = Signal()
  /// Where HTTP is listened on, once that is known.
  let httpAddress = Mailbox<HostPort>(capacity: 1)
  private let socketReadiness = Signal()
  let httpSocketReadiness = Signal()
  /// Called once it listens, with the addresses.
  let onReady: @Sendable (_ grpc: HostPort, _ http: HostPort?) -> Void
  /// Called when the disk failed or another coordinator has the store, before anything is taken down; may end the
  /// process. What has been said is in the store or was never answered, so nothing is gained by saying goodbye.
  package var onDiskFailure: (@Sendable (StoreError) -> Void)?

  /// - Throws: `ListenError` if an address is not on loopback: without TLS nothing else is listened on.
  package init(
    coordinator: Coordinator, grpc: HostPort, http: HostPort?, token: String, metrics: MetricsReader? = nil,
    folders: RuntimeFolders = RuntimeFolders(), descriptors: DescriptorBudget = .current, logger: Logger,
    onReady: @escaping @Sendable (HostPort, HostPort?) -> Void = { _, _ in }
  ) throws {
    for endpoint in [grpc, http].compactMap({ $0 }) where !endpoint.isLoopback {
      throw ListenError(notLoopback: endpoint)
    }
    self.coordinator = coordinator
    self.metrics = metrics
    self.grpc = grpc
    self.http = http
    self.token = token
    self.folders = folders
    self.logger = logger
    door = Door(descriptors.grpc, what: "\(grpc)", logger: logger)
    httpDoor = Door(descriptors.http, what: http.map { "\($0)" } ?? "HTTP", logger: logger)
    self.onReady = onReady
  }

  /// Returns once it listens; for one caller.
  package func ready() async throws {
    await readiness.wait()
    try Task.checkCancellation()
  }

  /// Serves until the graceful shutdown, or until the store fails for good. The coordinator must have been restored.
  package func run() async throws {
    let server = server(
      .http2NIOPosix(
        address: Self.address(grpc), transportSecurity: .plaintext, config: config, eventLoopGroup: RPCLoop.group))
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
          try await ListenError.naming(http) { try await self.http(http, metrics: metrics?.snapshot).run() }
          return false
        }
      }
      group.addTask { try await shutDown(server) }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
    await coordinator.deliverRest()
  }

  private func server(_ transport: HTTP2ServerTransport.Posix) -> GRPCServer<HTTP2ServerTransport.Posix> {
    GRPCServer(
      transport: transport,
      services: [
        IdentityService(token: token, door: door), WorkersService(coordinator: coordinator),
        OperatorsService(api: coordinator),
      ],
      interceptors: [
        TokenInterceptor(token: token, door: door), SubmitterInterceptor(),
        IdentityInterceptor { SystemClocks.date() },
      ])
  }

  private func serve(_ server: GRPCServer<HTTP2ServerTransport.Posix>) async throws -> Bool {
    try await ListenError.naming(grpc) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await RPCLoop.run { try await server.serve() } }
        // If it cannot listen, `serve` says why.
        guard let address = try? await server.listeningAddress, let port = address.ipv4?.port ?? address.ipv6?.port
        else { return try await group.waitForAll() }
        let folder = publish(port)
        defer { if let folder { TokenFile.withdraw(token, port: port, from: folder) } }
        // Nothing is said of a coordinator whose HTTP port is another program's.
        let http = self.http == nil ? nil : try await listeningHTTP()
        try await withSockets(folder, port, http) {
          onReady(HostPort(host: grpc.host, port: port), http)
          readiness.raise()
          try await group.waitForAll()
        }
      }
    }
    return true
  }

  private func listeningHTTP() async throws -> HostPort? {
    let address = await httpAddress.receive()?.first
    try Task.checkCancellation()
    return address
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

  // MARK: For clients of the same user

  /// Leaves the token where clients of the same user find it, and returns the folder. Where that cannot be, clients have
  /// to be told where the token is; nothing else is wrong.
  private func publish(_ port: Int) -> String? {
    do {
      let folder = try folders.own()
      try TokenFile.publish(token, port: port, in: folder)
      return folder
    } catch {
      logger.warning("clients of this user do not find the token by themselves, set BATON_TOKEN_FILE: \(error)")
      return nil
    }
  }

  /// Runs `body` while the coordinator listens on its sockets in `folder` too.
  private func withSockets(
    _ folder: String?, _ port: Int, _ http: HostPort?, _ body: () async throws -> Void
  ) async throws {
    guard let folder else { return try await body() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      if grpc.hasSocket { group.addTask { try await serveSocket(folder, port) } }
      if let http, http.hasSocket { group.addTask { try await serveHTTPSocket(folder, http) } }
      defer { group.cancelAll() }
      if grpc.hasSocket { await socketReadiness.wait() }
      if let http, http.hasSocket { await httpSocketReadiness.wait() }
      try Task.checkCancellation()
      try await body()
      // Streams over the sockets end as those over TCP do.
      try await group.waitForAll()
    }
  }

  /// The same services on a Unix socket: what lies in this folder is its user's, so no other program can be in its place.
  private func serveSocket(_ folder: String, _ port: Int) async throws {
    defer { socketReadiness.raise() }
    guard let socket = OwnSocket(folder: folder, port: port, logger) else { return }
    defer { socket.remove() }
    let server = server(
      .http2NIOPosix(
        address: .unixDomainSocket(path: socket.path), transportSecurity: .plaintext, config: config,
        eventLoopGroup: RPCLoop.group))
    do {
      // Each task says whether the server has ended when it has.
      try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
          try await RPCLoop.run { try await server.serve() }
          return true
        }
        group.addTask {
          try await gracefulShutdown()
          server.beginGracefulShutdown()
          return false
        }
        defer { group.cancelAll() }
        if (try? await server.listeningAddress) != nil { socketReadiness.raise() }
        while let isOver = try await group.next(), !isOver {}
      }
    } catch  where !Task.isCancelled {
      socket.warn("\(error)")
    }
  }

  private func serveHTTPSocket(_ folder: String, _ http: HostPort) async throws {
    defer { httpSocketReadiness.raise() }
    guard let socket = OwnSocket(folder: folder, port: http.port, logger) else { return }
    defer { socket.remove() }
    do {
      try await self.http(http, socket: socket.path, metrics: metrics?.snapshot).run()
    } catch  where !Task.isCancelled {
      socket.warn("\(error)")
    }
  }

  private static func address(_ endpoint: HostPort) -> GRPCNIOTransportHTTP2Posix.SocketAddress {
    endpoint.isIPv6
      ? .ipv6(host: endpoint.host, port: endpoint.port)
      : .ipv4(host: endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host, port: endpoint.port)
  }

  private var config: HTTP2ServerTransport.Posix.Config {
    .defaults { config in
      config.admit(through: door)
      config.rpc.maxRequestPayloadSize = CoordinatorClient.maximumMessageBytes
      config.http2.targetWindowSize = 8 << 20
      // Frames carry many messages; what is written then waits for nothing.
      config.connection.flushCoalescing = nil
    }
  }
}
