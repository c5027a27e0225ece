import BatonModel
import NIOCore
import NIOHTTPTypes

/// Closes a connection whose request has a body of more than the largest payload and some more. The server reads what is
/// left of a body even after it has answered, so that the connection can be used again: without this a refused client
/// could send for as long as it likes.
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
