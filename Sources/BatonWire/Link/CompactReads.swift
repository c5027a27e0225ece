package import NIOCore
import NIOSSL

/// Copies what TLS has decrypted into buffers of just its size.
///
/// The TLS handler passes the bytes on in its own buffer of 32 KiB. The HTTP/2 parser keeps the last buffer that it
/// read, even when no byte in it is left to read, and the TLS handler then allocates another one for the next read. A
/// small copy lets the connection of an idle worker hold one such buffer, not two.
package final class CompactReads: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer
  package typealias InboundOut = ByteBuffer

  package init() {}

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    context.fireChannelRead(wrapInboundOut(bytes.readableBytes * 2 > bytes.storageCapacity ? bytes : bytes.compacted))
  }
}

extension ByteBuffer {
  /// The readable bytes in storage of their own.
  fileprivate var compacted: ByteBuffer { ByteBuffer(bytes: readableBytesView) }
}

extension Channel {
  /// Puts `CompactReads` and `GatheredWrites` behind the TLS handler, if the connection has one. Call it on the
  /// connection's event loop.
  package func easeTLS() throws {
    let handlers = pipeline.syncOperations
    guard let tls = try? handlers.handler(type: NIOSSLServerHandler.self) else { return }
    try handlers.addHandlers([CompactReads(), GatheredWrites()], position: .after(tls))
  }
}
