package import BatonBase
import BatonIdentity
import BatonModel
import BatonProtobuf
package import BatonWire
import GRPCCore
package import Logging
import Synchronization

/// Connects a worker to one coordinator at a time, by gRPC. Each connection goes to the address that
/// `CoordinatorAddresses` names. A host that has joined a fleet speaks TLS with it; any other worker speaks only with a
/// coordinator on its own machine.
package final class GRPCConnector: Connector {
  private let addresses: Mutex<CoordinatorAddresses>
  /// Outlives the connections, because a refusal ends the connection.
  private let refusals = Mutex(CertificateRefusals())
  private let tokenFile: String?
  private let dataFolder: String
  private let renewal: Renewal
  private let clocks: Clocks
  /// Whether the host had joined a fleet when the worker started.
  private let hasJoined: Bool

  /// Throws `WorkerError` if an address of a coordinator is wrong, or if it is not a loopback address and the host has
  /// not joined a fleet (promise P14).
  /// - Parameter generator: the source of random numbers, which decides in which order the addresses are tried.
  package init(
    _ configuration: WorkerConfiguration, using generator: inout some RandomNumberGenerator,
    logger: Logger = Logger(label: "baton-worker"), clocks: Clocks = .system
  ) throws {
    var addresses: CoordinatorAddresses
    do {
      addresses = try CoordinatorAddresses(parsing: configuration.coordinator)
    } catch {
      throw WorkerError("the coordinator's address is wrong: \(error)")
    }
    hasJoined = (try? HostIdentity.read(dataFolder: configuration.dataFolder)) != nil
    if !hasJoined, let refusal = addresses.all.lazy.compactMap(\.refusal).first { throw WorkerError(refusal) }
    addresses.shuffle(using: &generator)
    self.addresses = Mutex(addresses)
    tokenFile = configuration.tokenFile
    dataFolder = configuration.dataFolder
    self.clocks = clocks
    renewal = Renewal(
      dataFolder: dataFolder, clocks: clocks, logger: logger, jitter: Double.random(in: 0..<1, using: &generator))
  }

  /// Tries the addresses in an order that differs from process to process. Throws like `init(_:using:)`.
  package convenience init(
    _ configuration: WorkerConfiguration, logger: Logger = Logger(label: "baton-worker")
  ) throws {
    var generator = SystemRandomNumberGenerator()
    try self.init(configuration, using: &generator, logger: logger)
  }

  /// The address of the present connection or attempt, and else of the next attempt.
  package var address: String { addresses.withLock { $0.current.description } }

  package func withConnection(_ body: @escaping @Sendable (Connection) async throws -> Void) async throws {
    try await waitAfterRefusals()
    let connection = Connection()
    let endpoint = addresses.withLock { $0.current }
    // Read before the attempt: a join during the attempt must not wait for what its predecessor was refused.
    let certificate = try? HostIdentity.read(dataFolder: dataFolder)?.certificate
    defer { addresses.withLock { $0.ended(isGivenUp: connection.isGivenUp) } }
    do {
      try await renewal.renewIfEnded()
      if let identity = try HostIdentity.read(dataFolder: dataFolder) {
        try await RPCLoop.run { [self] in
          try await CoordinatorClient.withSecureClient(endpoint, .host(identity)) { [self] client, _ in
            try await serve(connection, Baton_V1_Workers.Client(wrapping: client), [:], renewing: true, body)
          }
        }
      } else if hasJoined {
        throw ConnectionError(
          "\(HostIdentity.path(dataFolder: dataFolder)) is gone, with which this host proves who it is: put the file "
            + "or its folder back, or join the fleet again")
      } else {
        try await CoordinatorClient.withLoopClient(endpoint, tokenFile: tokenFile) { [self] client, metadata in
          try await serve(connection, Baton_V1_Workers.Client(wrapping: client), metadata, renewing: false, body)
        }
      }
    } catch _ where isLeft(connection) {
      // The worker has said why it gave the connection up. The error only says that the call was cancelled.
    } catch let error as ConnectionError {
      throw noted(error, certificate)
    } catch let error as RPCError {
      throw noted(
        ConnectionError(
          Self.message(error, endpoint), isRefusedCertificate: hasJoined && error.code == .unauthenticated), certificate
      )
    } catch let error as LinkError {
      throw noted(ConnectionError("\(error)", isRefusedCertificate: error.isRefusedCertificate), certificate)
    } catch let error as TokenFileError {
      throw ConnectionError("\(error)")
    } catch let error as IdentityError {
      throw ConnectionError("\(error)")
    }
  }

  // MARK: Refusals

  /// Waits as long as the coordinators' refusals demand, or until the host has joined again.
  private func waitAfterRefusals() async throws {
    while let certificate = try? HostIdentity.read(dataFolder: dataFolder)?.certificate {
      let count = addresses.withLock { $0.all.count }
      let left = refusals.withLock { $0.pause(for: certificate, addresses: count, at: clocks.instant()) }
      if left <= .zero { return }
      try await clocks.sleep(min(left, CertificateRefusals.lookInterval))
    }
  }

  /// The error as the worker tells it, after a refusal of the certificate was counted.
  private func noted(_ error: ConnectionError, _ certificate: String?) -> ConnectionError {
    guard error.isRefusedCertificate, let certificate else { return error }
    var error = error
    error.message = refusals.withLock { refusals in
      refusals.refused(certificate, at: clocks.instant())
      return refusals.told(error.message)
    }
    return error
  }

  /// Runs `body` on the connection, and carries its messages, until either side closes the connection.
  private func serve(
    _ connection: Connection, _ workers: Baton_V1_Workers.Client<some ClientTransport>, _ metadata: Metadata,
    renewing isRenewing: Bool, _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws {
    let renewals = isRenewing ? Task { [renewal] in try await renewal.run(workers) } : nil
    defer { renewals?.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.pump(connection, workers, metadata) }
      group.addTask { try await body(connection) }
      defer { connection.close() }
      try await group.next()
      connection.close()
      // A coordinator that has stopped answering would not close its end either, and the worker would wait for it
      // instead of going to the next address.
      if isLeft(connection) { group.cancelAll() }
      try await group.waitForAll()
    }
  }

  /// Whether the worker has given the connection up, and another address is next.
  private func isLeft(_ connection: Connection) -> Bool {
    connection.isGivenUp && addresses.withLock { $0.hasOthers }
  }

  /// Carries messages in both directions until either side closes the connection.
  private func pump(
    _ connection: Connection, _ workers: Baton_V1_Workers.Client<some ClientTransport>, _ metadata: Metadata
  ) async throws {
    defer { connection.close() }
    try await workers.connect(metadata: metadata, options: CoordinatorClient.callOptions) { writer in
      while let messages = await connection.up.receive() {
        for frame in Framing.frames(messages) { try await writer.write(frame) }
      }
    } onResponse: { [self] response in
      for try await frame in response.messages {
        let messages = try Framing.messages(frame)
        if messages.contains(where: \.isWelcome) {
          addresses.withLock { $0.welcomed() }
          refusals.withLock { $0.accepted() }
        }
        connection.down.send(contentsOf: messages)
      }
      connection.close()
    }
  }

  private static func message(_ error: RPCError, _ endpoint: HostPort) -> String {
    switch error.code {
    case .unavailable: "the coordinator at \(endpoint) went away: \(error.message)"
    case .unauthenticated: "the coordinator at \(endpoint) refused this worker: \(error.message)"
    default: "the connection to \(endpoint) failed: \(error.message)"
    }
  }
}

extension CoordinatorMessage {
  fileprivate var isWelcome: Bool { if case .welcome = self { true } else { false } }
}
