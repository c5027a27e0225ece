package import BatonWire
import HummingbirdCore
import Logging
import NIOCore
package import NIOSSL

/// Where an HTTP server listens. This decides what it serves: nothing that needs a credential is served unencrypted.
package enum HTTPListener: Sendable {
  /// Unencrypted, on a loopback address. It serves health checks alone, because they need no credential, and because
  /// any program may take the port while the daemon is down.
  case plain(HostPort)
  /// Unencrypted, on a loopback address, in a process that a person runs for the moment. What it serves needs a session
  /// that only this process knows: another program that takes the port later learns nothing that is of use to it.
  case own(HostPort)
  /// A Unix socket at this path, in a folder that only the daemon's user and root can open.
  case socket(String)
  /// Over TLS, on any address. The function returns the context for the next connection.
  case tls(HostPort, @Sendable () throws -> NIOSSLContext)

  var isPlain: Bool {
    switch self {
    case .plain: true
    case .own, .socket, .tls: false
    }
  }

  /// The address; `nil` for a Unix socket.
  var endpoint: HostPort? {
    switch self {
    case .plain(let endpoint), .own(let endpoint), .tls(let endpoint, _): endpoint
    case .socket: nil
    }
  }
}

/// TLS below another setup of connections. Each connection takes the certificate that is valid when it begins, so that
/// a certificate can be renewed while the server runs.
struct RenewableTLS<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let context: @Sendable () throws -> NIOSSLContext

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: try context()))
    }.flatMap { base.setup(channel: channel, logger: logger) }
  }

  func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
