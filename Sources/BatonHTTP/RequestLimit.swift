import BatonModel
import NIOCore
import NIOHTTPTypes

/// Closes a connection when the body of a request exceeds four times the largest payload. The server reads the rest of
/// a body even after it has answered, so that the connection can be used again. Without this handler, a client that was
/// refused could go on sending without limit.
final class RequestLimit: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  static let bodyBytes = 4 * Submission.maximumPayloadBytes
  private var bytes = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head, .end: bytes = 0
    case .body(let part): bytes += part.readableBytes
    }
    guard bytes <= Self.bodyBytes else { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }
}
