import NIOCore
import NIOHTTPTypes

/// Closes a connection when the body of a request exceeds four times the largest body that a route takes. The server
/// reads the rest of a body even after it has answered, so that the connection can be used again. Without this handler,
/// a client that was refused could go on sending without limit.
final class RequestLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  /// The most bytes of a body, of which a part may be read in vain.
  private let most: Int
  private var bytes = 0

  /// - Parameter largestBody: the largest body that a route takes.
  init(largestBody: Int) { most = 4 * largestBody }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head, .end: bytes = 0
    case .body(let part): bytes += part.readableBytes
    }
    guard bytes <= most else { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }
}
