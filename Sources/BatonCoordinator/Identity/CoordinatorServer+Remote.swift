import BatonBase
import BatonIdentity
import BatonModel
package import BatonWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import ServiceLifecycle

/// Where a coordinator serves other machines. Both listeners speak TLS only.
package struct RemoteAddresses: Hashable, Sendable {
  /// For the workers of hosts that have joined: they show a certificate.
  package var workers: HostPort?
  /// For operators, who show a token, and for hosts that join.
  package var operators: HostPort?

  package init(workers: HostPort? = nil, operators: HostPort? = nil) {
    (self.workers, self.operators) = (workers, operators)
  }

  package var isEmpty: Bool { workers == nil && operators == nil }
}

/// The listeners for other machines.
extension CoordinatorServer {
  /// Serves both listeners until the graceful shutdown, and keeps the coordinator's certificate fresh.
  func serve(_ remote: RemoteAddresses, _ identities: HostIdentities) async throws {
    let certificate = try CoordinatorCertificate(of: identities.authority, at: coordinator.clocks.date())
    try await withThrowingTaskGroup(of: Void.self) { group in
      if let workers = remote.workers {
        let server = GRPCServer(
          transport: .http2NIOPosix(
            address: Self.address(workers), transportSecurity: try certificate.security(askingForCertificates: true),
            config: config, eventLoopGroup: RPCLoop.group),
          services: [WorkersService(coordinator: coordinator, identities: identities)],
          interceptors: [
            HostInterceptor(identities: identities, door: door), IdentityInterceptor { SystemClocks.date() },
          ])
        group.addTask { try await serve(server, on: workers) { identities.listens(workers: $0) } }
      }
      if let operators = remote.operators {
        let server = GRPCServer(
          transport: .http2NIOPosix(
            address: Self.address(operators), transportSecurity: try certificate.security(askingForCertificates: false),
            config: config, eventLoopGroup: RPCLoop.group),
          services: [EnrolmentService(coordinator: coordinator), OperatorsService(of: coordinator)],
          interceptors: [
            OperatorInterceptor(gate: .credentials(identities.credentials), coordinator: coordinator, door: door),
            SubmitterInterceptor(),
            IdentityInterceptor { SystemClocks.date() },
          ])
        group.addTask { try await serve(server, on: operators) { identities.listens(operators: $0) } }
      }
      group.addTask {
        while true {
          try await coordinator.clocks.sleep(.seconds(3600))
          try certificate.renew(at: coordinator.clocks.date())
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Runs one listener until the graceful shutdown.
  private func serve(
    _ server: GRPCServer<HTTP2ServerTransport.Posix>, on endpoint: HostPort,
    _ listens: @escaping @Sendable (HostPort) -> Void
  ) async throws {
    try await ListenError.naming(endpoint) {
      // Each task returns whether its end is the end of the listener.
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
        if let address = try? await server.listeningAddress, let port = address.ipv4?.port ?? address.ipv6?.port {
          listens(HostPort(host: endpoint.host, port: port))
          remoteReadiness.send(())
        }
        while let isOver = try await group.next(), !isOver {}
      }
    }
  }

  /// Waits until every listener for other machines listens.
  /// - Returns: the addresses; nil if there is none.
  func listeningRemote() async throws -> RemoteAddresses? {
    guard let remote, let identities = coordinator.settings.identities else { return nil }
    var missing = [remote.workers, remote.operators].compactMap { $0 }.count
    while missing > 0 {
      missing -= await remoteReadiness.receive()?.count ?? missing
      try Task.checkCancellation()
    }
    let fleet = identities.description
    return RemoteAddresses(workers: fleet.workers, operators: fleet.operators)
  }
}
