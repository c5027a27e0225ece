package import GRPCCore
package import GRPCNIOTransportHTTP2Posix

/// Clients of a coordinator on loopback.
package enum CoordinatorClient {
  /// Largest message, in bytes: a frame of a megabyte, and room for a checkpoint at its limit.
  package static let maximumMessageBytes = 16 << 20

  /// Runs `body` with a client and the metadata that carries the token.
  package static func withClient<Result: Sendable>(
    _ endpoint: HostPort, tokenFile: String?,
    _ body: @Sendable (GRPCClient<HTTP2ClientTransport.Posix>, Metadata) async throws -> Result
  ) async throws -> Result {
    var metadata: Metadata = [:]
    if let token = try TokenFile.read(tokenFile, port: endpoint.port) {
      metadata.addString("Bearer \(token)", forKey: "authorization")
    }
    return try await withGRPCClient(transport: try transport(endpoint)) { try await body($0, metadata) }
  }

  /// The same on the thread for gRPC: for a program that talks all the time, in a body that never blocks.
  package static func withLoopClient<Result: Sendable>(
    _ endpoint: HostPort, tokenFile: String?,
    _ body: @escaping @Sendable (GRPCClient<HTTP2ClientTransport.Posix>, Metadata) async throws -> Result
  ) async throws -> Result {
    try await RPCLoop.run { try await withClient(endpoint, tokenFile: tokenFile, body) }
  }

  private static func transport(_ endpoint: HostPort) throws -> HTTP2ClientTransport.Posix {
    let config = HTTP2ClientTransport.Posix.Config.defaults { config in
      config.backoff.initial = .milliseconds(50)
      config.backoff.max = .milliseconds(500)
      config.http2.targetWindowSize = 8 << 20
      // Frames carry many messages; what is written then waits for nothing.
      config.connection.flushCoalescing = nil
    }
    if endpoint.host.contains(":") {
      return try .http2NIOPosix(
        target: .ipv6(address: endpoint.host, port: endpoint.port), transportSecurity: .plaintext, config: config,
        eventLoopGroup: RPCLoop.group)
    }
    if endpoint.host.first?.isNumber == true {
      return try .http2NIOPosix(
        target: .ipv4(address: endpoint.host, port: endpoint.port), transportSecurity: .plaintext, config: config,
        eventLoopGroup: RPCLoop.group)
    }
    return try .http2NIOPosix(
      target: .dns(host: endpoint.host, port: endpoint.port), transportSecurity: .plaintext, config: config,
      eventLoopGroup: RPCLoop.group)
  }

  /// Options of every call: no waiting for a coordinator that is not there.
  package static var callOptions: CallOptions {
    var options = CallOptions.defaults
    options.waitForReady = false
    options.maxRequestMessageBytes = maximumMessageBytes
    options.maxResponseMessageBytes = maximumMessageBytes
    return options
  }
}
