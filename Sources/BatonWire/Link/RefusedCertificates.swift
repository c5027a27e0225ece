package import NIOCore
import NIOSSL
import NIOTLS

/// Says when TLS refuses the certificate of a client. The handler leaves the pipeline at the end of the handshake.
final class RefusedCertificates: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Any

  private let refused: (String) -> Void

  /// - Parameter refused: is called with the name of the peer.
  init(_ refused: @escaping (String) -> Void) { self.refused = refused }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if TLSFailure(error)?.isOfClientsCertificate == true { refused(context.channel.peerName ?? "") }
    context.fireErrorCaught(error)
  }
}

extension Channel {
  /// Puts `RefusedCertificates` behind the TLS handler, if the connection has one. Call it on the connection's event
  /// loop.
  package func watchHandshake(_ refused: @escaping @Sendable (_ peer: String) -> Void) throws {
    let handlers = pipeline.syncOperations
    guard let tls = try? handlers.handler(type: NIOSSLServerHandler.self) else { return }
    try handlers.addHandler(RefusedCertificates(refused), position: .after(tls))
  }
}
