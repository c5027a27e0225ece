import BatonBase
import BatonIdentity
import BatonProtobuf
package import GRPCCore
package import GRPCNIOTransportHTTP2Posix
import NIOCore
import NIOPosix
import SwiftProtobuf
package import X509

/// Clients of a coordinator. The coordinator's own user reaches it through a Unix socket, whose folder admits no user
/// but this one and root, and shows the token. All others speak TLS, and send nothing before they have recognised the
/// coordinator. A client has only one connection, which is not made again when it is lost.
package enum CoordinatorClient {
  /// The transport of a client that has only one connection.
  package typealias Transport = HTTP2ClientTransport.WrappedChannel

  /// The largest message, in bytes: enough for a frame of 1 MiB together with a checkpoint of the largest size.
  package static let maximumMessageBytes = 16 << 20

  /// Runs `body` with a client of a coordinator of this user on this machine, and with the metadata that each of its
  /// calls has to carry.
  /// - Parameters:
  ///   - endpoint: the address on which the coordinator listens for workers. Its port is the name of the socket.
  ///   - tokenFile: a file with the token; `nil` for the one that the coordinator has published.
  /// - Throws: `LinkError` if there is no coordinator of this user, `TokenFileError`, and what `body` throws.
  package static func withClient<Result: Sendable>(
    _ endpoint: HostPort, tokenFile: String?, folders: RuntimeFolders = RuntimeFolders(),
    _ body: @Sendable (GRPCClient<Transport>, Metadata) async throws -> Result
  ) async throws -> Result {
    if let refusal = endpoint.refusal { throw LinkError.elsewhere(refusal) }
    let token = try TokenFile.read(tokenFile, port: endpoint.port, in: folders)
    let link = try await Link(to: endpoint, folders)
    // A transport over which no call was begun leaves its channel open.
    defer { link.channel?.close(promise: nil) }
    do {
      return try await withGRPCClient(transport: link.transport) { client in
        guard let token else { throw LinkError.noToken(endpoint, folders) }
        return try await body(client, ["authorization": .string("Bearer \(token)")])
      }
    } catch let error as RuntimeError where error.code == .clientIsStopped {
      // The connection ended before the call began: the client has only this one.
      throw LinkError.unreachable(endpoint)
    }
  }

  /// Runs `body` with a client that speaks TLS with a coordinator on any machine.
  /// - Parameter body: gets the root that the client's pin named; `nil` if the client had the roots already.
  /// - Throws: `LinkError` if the address cannot be reached, or if it is not that of the fleet's coordinator;
  ///   `IdentityError` if this host's own identity cannot be used; and what `body` throws.
  package static func withSecureClient<Result: Sendable>(
    _ endpoint: HostPort, _ trust: ClientTrust,
    _ body: @Sendable (GRPCClient<Transport>, Certificate?) async throws -> Result
  ) async throws -> Result {
    let tls = try ClientTLS(trust)
    let link = try await Link(to: endpoint, tls, remedy: trust.remedy)
    defer { link.channel?.close(promise: nil) }
    do {
      // A transport that is never run would trap when it is released.
      return try await withGRPCClient(transport: link.transport) { client in
        try await link.recognised(at: endpoint)
        return try await body(client, tls.root)
      }
    } catch let error as LinkError {
      throw error
    } catch {
      // A coordinator refuses a certificate after the handshake (TLS 1.3), with an alert, and the calls on the
      // connection fail for another reason.
      switch tls.failure {
      case .wantsCertificate?: throw LinkError.isForWorkers(endpoint)
      case .refusesCertificate?: throw LinkError.refusesCertificate(endpoint)
      case .noTLS?, .notOfTheFleet?, .other?, nil: break
      }
      // The connection ended before the call began: the client has only this one.
      if let error = error as? RuntimeError, error.code == .clientIsStopped {
        throw LinkError.unreachable(endpoint, remedy: trust.remedy)
      }
      throw error
    }
  }

  /// Like `withClient`, but runs on the gRPC thread. It is for programs that communicate all the time; `body` must
  /// never block.
  package static func withLoopClient<Result: Sendable>(
    _ endpoint: HostPort, tokenFile: String?, folders: RuntimeFolders = RuntimeFolders(),
    _ body: @escaping @Sendable (GRPCClient<Transport>, Metadata) async throws -> Result
  ) async throws -> Result {
    try await RPCLoop.run { try await withClient(endpoint, tokenFile: tokenFile, folders: folders, body) }
  }

  /// The options of every call. A call fails at once if there is no coordinator.
  package static var callOptions: CallOptions {
    var options = CallOptions.defaults
    options.waitForReady = false
    options.maxRequestMessageBytes = maximumMessageBytes
    options.maxResponseMessageBytes = maximumMessageBytes
    return options
  }
}

/// A connection to the address of a coordinator.
private struct Link {
  let transport: CoordinatorClient.Transport
  let channel: (any Channel)?
  /// Succeeds when the client has recognised the coordinator; `nil` without TLS.
  private let handshake: EventLoopFuture<Void>?

  /// A connection through the Unix socket. A coordinator that was killed leaves its socket behind, which answers
  /// nothing.
  init(to endpoint: HostPort, _ folders: RuntimeFolders) async throws {
    handshake = nil
    guard let path = folders.file("\(endpoint.port).sock", isSocket: true) else {
      throw LinkError.noSocket(endpoint, folders)
    }
    do {
      (transport, channel) = try await Self.wrapping(authority: "127.0.0.1") { bootstrap, configure in
        try await bootstrap.connect(to: NIOCore.SocketAddress(unixDomainSocketPath: path)) { configure($0) }
      }
    } catch {
      throw LinkError.unreachable(endpoint)
    }
  }

  /// A connection over TLS. `recognised` has to be awaited before anything is sent over it.
  /// - Parameter remedy: what the user can do if nothing answers.
  init(to endpoint: HostPort, _ tls: ClientTLS, remedy: String) async throws {
    let handshakes = Mailbox<EventLoopFuture<Void>>(capacity: 1)
    do {
      (transport, channel) = try await Self.wrapping(authority: tls.authority) { bootstrap, configure in
        try await bootstrap.connect(host: endpoint.host, port: endpoint.port) { channel in
          channel.eventLoop.makeCompletedFuture { handshakes.send(try tls.add(to: channel)) }
            .flatMap { configure(channel) }
        }
      }
    } catch {
      throw LinkError.unreachable(endpoint, remedy: remedy)
    }
    handshake = await handshakes.receive()?.first
  }

  /// Returns when the client has recognised the coordinator.
  /// - Throws: `LinkError` if it has not within five seconds.
  func recognised(at endpoint: HostPort) async throws {
    let timer = channel?.eventLoop.scheduleTask(in: .seconds(5)) { [channel] in channel?.close(promise: nil) }
    defer { timer?.cancel() }
    do {
      try await handshake?.get()
    } catch {
      throw LinkError.notTheFleet(endpoint, "\(error)")
    }
  }

  private typealias Configured = CoordinatorClient.Transport.ConfiguredChannel

  private static func wrapping(
    authority: String,
    _ connect:
      @escaping @Sendable (
        ClientBootstrap, @escaping @Sendable (any Channel) -> EventLoopFuture<Configured>
      ) async throws -> Configured
  ) async throws -> (CoordinatorClient.Transport, (any Channel)?) {
    let channels = Mailbox<any Channel>(capacity: 1)
    let transport = try await CoordinatorClient.Transport.wrapping(config: config(authority)) { configure in
      let bootstrap = ClientBootstrap(group: RPCLoop.group).connectTimeout(.seconds(5))
      let configured = try await connect(bootstrap, configure)
      channels.send(configured.channel)
      return configured
    }
    return (transport, await channels.receive()?.first)
  }

  private static func config(_ authority: String) -> CoordinatorClient.Transport.Config {
    .defaults { config in
      config.http2.targetWindowSize = 8 << 20
      config.http2.authority = authority
      // Frames contain many messages already, so each write is sent at once.
      config.connection.flushCoalescing = nil
    }
  }
}

extension HostPort {
  /// Whether an HTTP server that listens on this address also has a Unix socket, which is named after its port.
  package var hasSocket: Bool { ["127.0.0.1", "::1", "localhost"].contains(host) }
}

/// Why there is no connection to a coordinator that a client can trust. No secret was sent.
package struct LinkError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable {
    /// Nothing listens on the address, or it does not answer.
    case unreachable
    /// The program at the address is not the fleet's coordinator, or it does not accept this client.
    case notPermitted
  }

  package let code: Code
  package let description: String
  /// Whether the coordinator does not accept the certificate of this host, which only a person can change.
  package let isRefusedCertificate: Bool

  private init(_ code: Code, _ description: String, isRefusedCertificate: Bool = false) {
    (self.code, self.description, self.isRefusedCertificate) = (code, description, isRefusedCertificate)
  }

  /// - Parameter remedy: what the user of this command can do, as an order.
  static func unreachable(_ endpoint: HostPort, remedy: String) -> LinkError {
    LinkError(.unreachable, "no coordinator answers at \(endpoint): \(remedy)")
  }

  /// With the remedy of the commands that have `--coordinator`, for a coordinator of this user.
  static func unreachable(_ endpoint: HostPort) -> LinkError {
    unreachable(
      endpoint,
      remedy: "start one (baton coordinator, or baton up), or name another with --coordinator HOST:PORT")
  }

  package static func unanswered(_ endpoint: HostPort, _ why: String) -> LinkError {
    LinkError(.unreachable, "the coordinator at \(endpoint) does not answer: \(why)")
  }

  package static func noneAnswers(_ reasons: [LinkError]) -> LinkError {
    LinkError(
      .unreachable,
      "none of the \(reasons.count) coordinators answers: " + reasons.map(\.description).joined(separator: "; "))
  }

  /// - Parameter why: says what is wrong with the program on the address, and begins with "it" or "its".
  static func notTheFleet(_ endpoint: HostPort, _ why: String) -> LinkError {
    LinkError(
      .notPermitted,
      "the program at \(endpoint) is not a coordinator of the fleet, so nothing was sent to it: \(why)")
  }

  static func refusesCertificate(_ endpoint: HostPort) -> LinkError {
    LinkError(
      .notPermitted,
      "the coordinator at \(endpoint) does not accept this host's certificate, which was revoked, has ended, or is of "
        + "another fleet: join the fleet again with a new invitation (baton host invite NAME)",
      isRefusedCertificate: true)
  }

  static func isForWorkers(_ endpoint: HostPort) -> LinkError {
    LinkError(
      .notPermitted,
      "\(endpoint) is the port for the workers of hosts that have joined. Operators log in, and hosts join, at the port "
        + "of --operators: 'baton fleet' on the coordinator's machine names it")
  }

  static func elsewhere(_ why: String) -> LinkError { LinkError(.notPermitted, why) }

  static func noSocket(_ endpoint: HostPort, _ folders: RuntimeFolders) -> LinkError {
    let places = folders.paths.map { "\($0)/\(endpoint.port).sock" }.joined(separator: ", ")
    let refusals = folders.refusals.map { "; \($0)" }.joined()
    return LinkError(
      .unreachable,
      "no coordinator of this user listens at \(endpoint): start one (baton coordinator, or baton up); for the "
        + "coordinator of another user or machine, log in (baton login) or let this host join (baton host invite). "
        + "Looked for \(places)\(refusals)")
  }

  static func noToken(_ endpoint: HostPort, _ folders: RuntimeFolders) -> LinkError {
    let places = folders.paths.map { "\($0)/\(endpoint.port).token" }.joined(separator: ", ")
    let refusals = folders.refusals.map { "; \($0)" }.joined()
    return LinkError(
      .notPermitted,
      "there is no token for the coordinator at \(endpoint): start the coordinator again, and it publishes its token "
        + "again, or set BATON_TOKEN_FILE to its token file. Looked for \(places)\(refusals)")
  }
}
