package import NIOCore
import NIOSSL

/// Gathers what is written before a flush, so that TLS encrypts it as one record.
///
/// One answer of gRPC is four to six small writes (headers, the head of a frame, its content, trailers). TLS makes a
/// record of each write that it gets, and a record costs both sides about as much for ten bytes as for a thousand.
package final class GatheredWrites: ChannelOutboundHandler {
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  /// The largest write that is copied, in bytes. A larger one costs more to copy than a record of its own.
  package static let largestCopy = 4096
  /// The most bytes that one record of TLS may have (RFC 8446, section 5.1).
  package static let record = 16_384

  private var gathered: ByteBuffer?
  private var promise: EventLoopPromise<Void>?

  package init() {}

  package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = unwrapOutboundIn(data)
    guard let before = gathered, bytes.readableBytes <= Self.largestCopy,
      before.readableBytes + bytes.readableBytes <= Self.record
    else {
      pass(context)
      (gathered, self.promise) = (bytes, promise)
      return
    }
    gathered = nil  // Otherwise the append would copy what was gathered before.
    gathered = before.appending(bytes)
    join(promise)
  }

  package func flush(context: ChannelHandlerContext) {
    pass(context)
    context.flush()
  }

  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    pass(context)
    context.close(mode: mode, promise: promise)
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    gathered = nil
    promise.take()?.fail(ChannelError.ioOnClosedChannel)
  }

  /// Passes on what was gathered.
  private func pass(_ context: ChannelHandlerContext) {
    guard let bytes = gathered.take() else { return }
    context.write(wrapOutboundOut(bytes), promise: promise.take())
  }

  /// Completes a promise of the last write together with those before it.
  private func join(_ last: EventLoopPromise<Void>?) {
    guard let last else { return }
    guard let promise else {
      promise = last
      return
    }
    promise.futureResult.cascade(to: last)
  }
}

extension ByteBuffer {
  /// This buffer with `bytes` behind its own.
  fileprivate consuming func appending(_ bytes: ByteBuffer) -> ByteBuffer {
    var result = self
    result.writeImmutableBuffer(bytes)
    return result
  }
}
