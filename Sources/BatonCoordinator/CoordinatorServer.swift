import BatonBase
package import BatonHTTP
import BatonModel
package import BatonStore
package import BatonTelemetry
package import BatonWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix
package import Logging
import ServiceLifecycle
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator that listens. Its own user reaches it through a Unix socket; workers and operators of other users and
/// other machines reach it over TLS. No TCP listener without TLS takes a credential: HTTP without TLS answers health
/// checks alone.
package struct CoordinatorServer: Service {
  /// Where the coordinator listens.
  package struct Addresses: Hashable, Sendable {
    /// For the workers of hosts that have joined, who show a certificate. The port is also the name of the Unix socket.
    package var workers: HostPort
    /// For operators, who show a credential, and for hosts that join; nil switches it off.
    package var operators: HostPort?
    /// For health checks over HTTP, unencrypted, on loopback; nil switches it off, and the socket of HTTP too.
    package var http: HostPort?
    /// For the HTTP API and metrics over HTTPS; nil switches it off.
    package var https: HostPort?

    package init(workers: HostPort, operators: HostPort? = nil, http: HostPort? = nil, https: HostPort? = nil) {
      (self.workers, self.operators, self.http, self.https) = (workers, operators, http, https)
    }
  }

  package let coordinator: Coordinator
  let addresses: Addresses
  let identities: HostIdentities
  let token: String
  /// What HTTPS shows in place of the fleet's own certificate.
  let ownCertificate: OwnCertificate?
  let logger: Logger
  /// The folders where clients of the same user find the token and the sockets.
  let folders: RuntimeFolders
  /// The coordinator's data folder, which is published there; nil if it is in memory.
  let dataFolder: String?
  let door: Door
  let httpDoor: Door
  /// What `/metrics` shows; if it is nil, the page does not exist.
  let metrics: MetricsReader?
  /// Adds the routes of an HTTP API, which another module has; nil if there is none.
  package typealias API = @Sendable (HTTPService.Routes, HTTPCalls) -> Void
  let api: API?
  /// The most calls over HTTP that may wait for something at the same time: half of the connections of HTTP.
  let httpWaits: Int
  /// The largest body that a route of the API takes.
  package static let largestBody = 4 << 20
  private let readiness = Signal()
  /// The address on which HTTP listens, sent once it is known.
  private let httpAddress = Mailbox<HostPort>(capacity: 1)
  private let httpsAddress = Mailbox<HostPort>(capacity: 1)
  private let workersAddress = Mailbox<HostPort>(capacity: 1)
  private let operatorsAddress = Mailbox<HostPort>(capacity: 1)
  private let socketReadiness = Signal()
  private let httpSocketReadiness = Signal()
  /// Called once the server listens, with its addresses.
  let onReady: @Sendable (Addresses) -> Void
  /// Called when the disk has failed or another coordinator has the store, before anything is shut down. It may end
  /// the process: everything that was answered is in the store, so an orderly shutdown would save nothing.
  package var onDiskFailure: (@Sendable (StoreError) -> Void)?

  /// - Parameters:
  ///   - identities: the fleet's authority, which must be in the coordinator's settings too.
  ///   - api: adds the HTTP API to what is served over HTTPS and through the Unix socket of HTTP.
  ///   - dataFolder: the absolute path of the coordinator's data folder, which workers of this user hide from commands.
  /// - Throws: `ListenError` if `http` is not a loopback address.
  package init(
    coordinator: Coordinator, identities: HostIdentities, addresses: Addresses, token: String,
    ownCertificate: OwnCertificate? = nil, metrics: MetricsReader? = nil, api: API? = nil,
    folders: RuntimeFolders = RuntimeFolders(),
    dataFolder: String? = nil,
    descriptors: DescriptorBudget = .current, logger: Logger,
    onReady: @escaping @Sendable (Addresses) -> Void = { _ in }
  ) throws {
    if let http = addresses.http, !http.isLoopback { throw ListenError(notLoopback: http) }
    self.coordinator = coordinator
    (self.metrics, self.api) = (metrics, api)
    self.addresses = addresses
    self.identities = identities
    self.token = token
    self.ownCertificate = ownCertificate
    self.folders = folders
    self.dataFolder = dataFolder
    self.logger = logger
    let handshakes = Double(coordinator.settings.rates.handshakes)
    func limited(_ limits: Admission.Limits) -> Admission.Limits {
      var limits = limits
      limits.arrivals = RateLimit(rate: handshakes, burst: 5 * handshakes)
      return limits
    }
    door = Door(limited(descriptors.grpc), what: "\(addresses.workers)", logger: logger)
    httpWaits = max(1, descriptors.http.connections / 2)
    httpDoor = Door(limited(descriptors.http), what: addresses.http.map { "\($0)" } ?? "HTTP", logger: logger)
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
    let certificate = try CoordinatorCertificate(of: identities.authorities, at: coordinator.clocks.date())
    // Each task returns whether its end is the end of the service.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        do {
          try await coordinator.run()
        } catch let error as StoreError where error.endsCoordinator {
          onDiskFailure?(error)
          throw error
        }
        return true
      }
      if let endpoint = addresses.http {
        group.addTask {
          try await http(.plain(endpoint), nil) { [httpAddress] in if let port = $0 { httpAddress.send(port) } }.run()
          return false
        }
      }
      if let endpoint = addresses.https {
        group.addTask {
          let credentials = Gate.Proof.credentials(identities.credentials)
          try await http(.tls(endpoint, { ownCertificate?.context ?? certificate.context }), credentials) {
            [httpsAddress] in
            if let port = $0 { httpsAddress.send(port) }
          }.run()
          return false
        }
      }
      group.addTask {
        try await serve(try workersServer(certificate), on: addresses.workers, workersAddress)
        return true
      }
      if let operators = addresses.operators {
        group.addTask {
          try await serve(try operatorsServer(operators, certificate), on: operators, operatorsAddress)
          return true
        }
      }
      group.addTask {
        while true {
          try await coordinator.clocks.sleep(.seconds(3600))
          try certificate.renew(at: coordinator.clocks.date())
        }
      }
      if let ownCertificate { group.addTask { try await readAgain(ownCertificate) } }
      group.addTask {
        try await serveOwnUser()
        return true
      }
      group.addTask { try await shutDown() }
      defer { group.cancelAll() }
      while let isOver = try await group.next(), !isOver {}
    }
    await coordinator.deliverRest()
  }

  /// Waits for the graceful shutdown and carries it out. The connections of workers are closed (they reconnect to the
  /// next coordinator within their lease), operators' calls are ended, and nothing new is accepted. A call that has
  /// not ended after three seconds is cut off.
  private func shutDown() async throws -> Bool {
    try await gracefulShutdown()
    coordinator.stopAccepting()
    try await coordinator.clocks.sleep(.seconds(3))
    return true
  }

  /// Reads the certificate of another authority again each minute, because it is renewed by another program.
  private func readAgain(_ certificate: OwnCertificate) async throws -> Bool {
    while true {
      try await coordinator.clocks.sleep(.seconds(60))
      do {
        if try certificate.renew() { logger.notice("HTTPS shows the new certificate from now on") }
      } catch {
        logger.warning("the certificate for HTTPS was not read again, and the one before is shown: \(error)")
      }
    }
  }

  // MARK: Over TLS

  private func workersServer(_ certificate: CoordinatorCertificate) throws -> GRPCServer<HTTP2ServerTransport.Posix> {
    GRPCServer(
      transport: .http2NIOPosix(
        address: Self.address(addresses.workers),
        transportSecurity: try certificate.security(askingForCertificates: true), config: workersConfig,
        eventLoopGroup: RPCLoop.group),
      services: [WorkersService(coordinator: coordinator, identities: identities, door: door)],
      interceptors: [
        HostInterceptor(identities: identities, door: door, coordinator: coordinator),
        IdentityInterceptor { SystemClocks.date() },
      ])
  }

  private func operatorsServer(
    _ endpoint: HostPort, _ certificate: CoordinatorCertificate
  ) throws -> GRPCServer<HTTP2ServerTransport.Posix> {
    GRPCServer(
      transport: .http2NIOPosix(
        address: Self.address(endpoint), transportSecurity: try certificate.security(askingForCertificates: false),
        config: operatorsConfig, eventLoopGroup: RPCLoop.group),
      services: [EnrolmentService(coordinator: coordinator), OperatorsService(of: coordinator)],
      interceptors: [
        OperatorInterceptor(
          gate: Gate(proof: .credentials(identities.credentials), coordinator: coordinator, door: door)),
        SubmitterInterceptor(), IdentityInterceptor { SystemClocks.date() },
      ])
  }

  /// Runs one listener until the graceful shutdown, and sends its address.
  private func serve(
    _ server: GRPCServer<HTTP2ServerTransport.Posix>, on endpoint: HostPort, _ address: Mailbox<HostPort>
  ) async throws {
    try await ListenError.naming(endpoint) {
      try await serve(server) { bound in
        guard let port = bound.ipv4?.port ?? bound.ipv6?.port else { return }
        address.send(HostPort(host: endpoint.host, port: port))
      }
    }
  }

  /// Runs a server until the graceful shutdown.
  /// - Parameter listens: is called with the address when the server listens.
  private func serve(
    _ server: GRPCServer<HTTP2ServerTransport.Posix>,
    _ listens: (GRPCNIOTransportHTTP2Posix.SocketAddress) -> Void
  ) async throws {
    let listening = Listening()
    // Each task returns whether its end is the end of the listener.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await serve(server, while: listening)
        return true
      }
      group.addTask {
        try await gracefulShutdown()
        server.beginGracefulShutdown()
        return false
      }
      defer { group.cancelAll() }
      // If the server cannot listen, `serve` throws the reason.
      if let address = try? await server.listeningAddress {
        listening.isTrue.withLock { $0 = true }
        listens(address)
      }
      while let isOver = try await group.next(), !isOver {}
    }
  }

  /// Serves until the graceful shutdown of the server, or until the task is cancelled. A server whose `serve` is
  /// cancelled while it accepts a connection traps (`NIOAsyncWriter` of swift-nio, "Deinited … without calling
  /// finish"), so its listener is closed first.
  private func serve(_ server: GRPCServer<HTTP2ServerTransport.Posix>, while listening: Listening) async throws {
    let serving = Task { try await RPCLoop.run { try await server.serve() } }
    try await withTaskCancellationHandler {
      try await serving.value
    } onCancel: {
      guard listening.isTrue.withLock({ $0 }) else { return serving.cancel() }
      server.beginGracefulShutdown()
      Task {
        try? await Task.sleep(for: .milliseconds(100))
        serving.cancel()
      }
    }
  }

  /// Whether a server listens.
  private final class Listening: Sendable { let isTrue = Mutex(false) }

  // MARK: For the coordinator's own user

  private var owner: Gate.Proof { .owner(token: token, name: OwnUser.name) }

  /// Without the note, the replacement of the root takes one more start, which is no reason to serve nothing.
  private func noteServing() {
    do { try identities.noteServing() } catch {
      logger.warning("it was not noted that operators can learn the fleet's next root: \(error)")
    }
  }

  /// Serves the coordinator's own user through the socket, and says that the server is ready when everything listens.
  private func serveOwnUser() async throws {
    guard let workers = await workersAddress.receive()?.first else { return try Task.checkCancellation() }
    identities.listens(workers: workers)
    var bound = Addresses(workers: workers)
    if addresses.operators != nil, let operators = await operatorsAddress.receive()?.first {
      identities.listens(operators: operators)
      bound.operators = operators
    }
    // A coordinator whose HTTP port belongs to another program is not announced.
    if addresses.http != nil { bound.http = await httpAddress.receive()?.first }
    if addresses.https != nil, let https = await httpsAddress.receive()?.first {
      identities.listens(https: https)
      bound.https = https
    }
    try Task.checkCancellation()
    noteServing()
    let folder: String
    do {
      folder = try folders.own()
      try TokenFile.publish(token, port: workers.port, dataFolder: dataFolder, in: folder)
    } catch let error as TokenFileError {
      throw ListenError(noSocket: error.description)
    }
    defer { TokenFile.withdraw(token, port: workers.port, from: folder) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await serveSocket(folder, workers.port) }
      if let http = bound.http, http.hasSocket { group.addTask { try await serveHTTPSocket(folder, http) } }
      group.addTask { [bound] in try await coordinator.announce(Self.place(bound, coordinator.settings.version)) }
      defer { group.cancelAll() }
      group.addTask { [bound] in
        await socketReadiness.wait()
        if let http = bound.http, http.hasSocket { await httpSocketReadiness.wait() }
        try Task.checkCancellation()
        onReady(bound)
        readiness.raise()
      }
      try await group.waitForAll()
    }
  }

  /// Where other machines reach the coordinator. One that listens on every address is named by its machine.
  static func place(_ bound: Addresses, _ version: String) -> CoordinatorPlace {
    let machine = ProcessInfo.processInfo.hostName
    func reached(_ address: HostPort) -> String {
      let isAny = ["0.0.0.0", "::"].contains(address.host)
      return "\(isAny ? HostPort(host: machine, port: address.port) : address)"
    }
    return CoordinatorPlace(
      name: machine, version: version, workers: reached(bound.workers), operators: bound.operators.map(reached),
      https: bound.https.map(reached))
  }

  /// Serves workers and operators of this user on a Unix socket. Only this user and root can write to its folder, so no
  /// other program can put its own socket there.
  private func serveSocket(_ folder: String, _ port: Int) async throws {
    let socket = try OwnSocket(folder: folder, port: port)
    defer { socket.remove() }
    let server = GRPCServer(
      transport: .http2NIOPosix(
        address: .unixDomainSocket(path: socket.path), transportSecurity: .plaintext, config: config,
        eventLoopGroup: RPCLoop.group),
      services: [WorkersService(coordinator: coordinator), OperatorsService(of: coordinator)],
      interceptors: [
        OperatorInterceptor(gate: Gate(proof: owner, coordinator: coordinator, door: door)),
        SubmitterInterceptor(), IdentityInterceptor { SystemClocks.date() },
      ])
    do {
      try await serve(server) { _ in socketReadiness.raise() }
    } catch  where !Task.isCancelled {
      throw ListenError(noSocket: "\(socket.path): \(error)")
    }
  }

  private func serveHTTPSocket(_ folder: String, _ http: HostPort) async throws {
    defer { httpSocketReadiness.raise() }
    do {
      let socket = try OwnSocket(folder: folder, port: http.port)
      defer { socket.remove() }
      try await self.http(.socket(socket.path), owner) { [httpSocketReadiness] _ in
        httpSocketReadiness.raise()
      }.run()
    } catch  where !Task.isCancelled {
      logger.warning("HTTP has no Unix socket: \(error)")
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

  /// For connections over TLS, whose peers are not this user.
  private var remoteConfig: HTTP2ServerTransport.Posix.Config {
    var config = config
    // Without a limit one connection could hold any number of calls.
    config.http2.maxConcurrentStreams = Self.streamsOfConnection
    return config
  }

  /// For connections over TLS of operators. One without a call is closed, so that they do not take the places of hosts.
  private var operatorsConfig: HTTP2ServerTransport.Posix.Config {
    var config = remoteConfig
    config.connection.maxIdleTime = .seconds(300)
    return config
  }

  /// For connections over TLS of hosts, whose certificates TLS checks.
  private var workersConfig: HTTP2ServerTransport.Posix.Config {
    var config = remoteConfig
    config.admit(through: door) { [coordinator] in coordinator.callAudit.noteRefusedCertificate(from: $0) }
    return config
  }

  /// The most calls that one connection over TLS may have at the same time.
  static let streamsOfConnection = 64
}
