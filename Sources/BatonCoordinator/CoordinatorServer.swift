import BatonBase
import BatonHTTP
package import BatonStore
package import BatonTelemetry
package import BatonWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix
package import Logging
import ServiceLifecycle

/// A coordinator that listens on the network: gRPC for workers and operators, HTTP for health checks, pokes and
/// metrics.
package struct CoordinatorServer: Service {
  package let coordinator: Coordinator
  let grpc: HostPort
  /// The address for HTTP; nil switches HTTP off.
  let http: HostPort?
  /// Where the coordinator serves other machines; nil if it serves only its own.
  let remote: RemoteAddresses?
  let token: String
  let logger: Logger
  /// The folders where clients of the same user find the token and the sockets.
  let folders: RuntimeFolders
  let door: Door
  let httpDoor: Door
  /// What `/metrics` shows; if it is nil, the page does not exist.
  let metrics: MetricsReader?
  private let readiness = Signal()
  /// The address on which HTTP listens, sent once it is known.
  let httpAddress = Mailbox<HostPort>(capacity: 1)
  private let socketReadiness = Signal()
  let remoteReadiness = Mailbox<Void>(capacity: 2)
  let httpSocketReadiness = Signal()
  /// Called once the server listens, with its addresses.
  let onReady: @Sendable (_ grpc: HostPort, _ http: HostPort?, _ remote: RemoteAddresses?) -> Void
  /// Called when the disk has failed or another coordinator has the store, before anything is shut down. It may end
  /// the process: everything that was answered is in the store, so an orderly shutdown would save nothing.
  package var onDiskFailure: (@Sendable (StoreError) -> Void)?

  /// - Parameter remote: where the coordinator serves other machines, over TLS; its settings must have `identities`.
  /// - Throws: `ListenError` if `grpc` or `http` is not a loopback address: without TLS the server listens only on
  ///   loopback.
  package init(
    coordinator: Coordinator, grpc: HostPort, http: HostPort?, remote: RemoteAddresses? = nil, token: String,
    metrics: MetricsReader? = nil, folders: RuntimeFolders = RuntimeFolders(),
    descriptors: DescriptorBudget = .current, logger: Logger,
    onReady: @escaping @Sendable (HostPort, HostPort?, RemoteAddresses?) -> Void = { _, _, _ in }
  ) throws {
    for endpoint in [grpc, http].compactMap({ $0 }) where !endpoint.isLoopback {
      throw ListenError(notLoopback: endpoint)
    }
    self.coordinator = coordinator
    self.metrics = metrics
    self.grpc = grpc
    self.http = http
    self.remote = remote
    self.token = token
    self.folders = folders
    self.logger = logger
    door = Door(descriptors.grpc, what: "\(grpc)", logger: logger)
    httpDoor = Door(descriptors.http, what: http.map { "\($0)" } ?? "HTTP", logger: logger)
    self.onReady = onReady
  }

  /// Returns once the server listens. Only one caller may wait.
  package func ready() async throws {
    await readiness.wait()
    try Task.checkCancellation()
  }

  /// Serves until the graceful shutdown, or until the store fails for good. The coordinator's `restore` must have been
  /// called before.
  package func run() async throws {
    let server = server(
      .http2NIOPosix(
        address: Self.address(grpc), transportSecurity: .plaintext, config: config, eventLoopGroup: RPCLoop.group))
    // Each task returns whether its end is the end of the service.
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
      if let remote, let identities = coordinator.settings.identities {
        group.addTask {
          try await serve(remote, identities)
          return true
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
        OperatorsService(of: coordinator),
      ],
      interceptors: [
        OperatorInterceptor(
          gate: .owner(token: token, name: OwnUser.name), coordinator: coordinator, door: door),
        SubmitterInterceptor(),
        IdentityInterceptor { SystemClocks.date() },
      ])
  }

  private func serve(_ server: GRPCServer<HTTP2ServerTransport.Posix>) async throws -> Bool {
    try await ListenError.naming(grpc) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await RPCLoop.run { try await server.serve() } }
        // If the server cannot listen, `serve` throws the reason.
        guard let address = try? await server.listeningAddress, let port = address.ipv4?.port ?? address.ipv6?.port
        else { return try await group.waitForAll() }
        let folder = publish(port)
        defer { if let folder { TokenFile.withdraw(token, port: port, from: folder) } }
        // A coordinator whose HTTP port belongs to another program is not announced.
        let http = self.http == nil ? nil : try await listeningHTTP()
        let remote = try await listeningRemote()
        try await withSockets(folder, port, http) {
          onReady(HostPort(host: grpc.host, port: port), http, remote)
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

  /// Waits for the graceful shutdown and carries it out. The connections of workers are closed (they reconnect to the
  /// next coordinator within their lease), operators' calls are ended, and nothing new is accepted. A call that has
  /// not ended after three seconds is cut off.
  private func shutDown(_ server: GRPCServer<HTTP2ServerTransport.Posix>) async throws -> Bool {
    try await gracefulShutdown()
    coordinator.stopAccepting()
    server.beginGracefulShutdown()
    try await coordinator.clocks.sleep(.seconds(3))
    return true
  }

  // MARK: For clients of the same user

  /// Writes the token into the folder where clients of the same user find it.
  /// - Returns: the folder; nil if the token cannot be written there. Clients then need BATON_TOKEN_FILE, but
  ///   everything else works.
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

  /// Runs `body` while the coordinator also listens on its sockets in `folder`.
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
      // Streams over the sockets end in the same way as streams over TCP.
      try await group.waitForAll()
    }
  }

  /// Offers the same services on a Unix socket. Only the user can write to this folder, so no other program can put
  /// its own socket there.
  private func serveSocket(_ folder: String, _ port: Int) async throws {
    defer { socketReadiness.raise() }
    guard let socket = OwnSocket(folder: folder, port: port, logger) else { return }
    defer { socket.remove() }
    let server = server(
      .http2NIOPosix(
        address: .unixDomainSocket(path: socket.path), transportSecurity: .plaintext, config: config,
        eventLoopGroup: RPCLoop.group))
    do {
      // Each task returns whether its end is the end of the server.
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

  static func address(_ endpoint: HostPort) -> GRPCNIOTransportHTTP2Posix.SocketAddress {
    endpoint.isIPv6
      ? .ipv6(host: endpoint.host, port: endpoint.port)
      : .ipv4(host: endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host, port: endpoint.port)
  }

  var config: HTTP2ServerTransport.Posix.Config {
    .defaults { config in
      config.admit(through: door)
      config.rpc.maxRequestPayloadSize = CoordinatorClient.maximumMessageBytes
      config.http2.targetWindowSize = 8 << 20
      // Frames carry many messages, so a written frame is flushed at once.
      config.connection.flushCoalescing = nil
    }
  }
}
