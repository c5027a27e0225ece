import NIOCore
import NIOEmbedded
import Testing

@testable import BatonWire

/// What is written before a flush is one write for TLS, in the order of the writes.
@Suite struct GatheredWritesTests {
  private let channel = EmbeddedChannel(handler: GatheredWrites())

  private func bytes(_ count: Int, _ byte: UInt8) -> ByteBuffer { ByteBuffer(repeating: byte, count: count) }

  /// What has been passed on since the last call, each write by itself.
  private func passed() throws -> [ByteBuffer] {
    var writes: [ByteBuffer] = []
    while let write = try channel.readOutbound(as: ByteBuffer.self) { writes.append(write) }
    return writes
  }

  @Test func `small writes are one when they are flushed, and nothing before`() throws {
    for byte in UInt8(1)...4 { channel.write(bytes(10, byte), promise: nil) }
    #expect(try passed() == [])
    channel.flush()
    var all = ByteBuffer()
    for byte in UInt8(1)...4 { all.writeRepeatingByte(byte, count: 10) }
    #expect(try passed() == [all])
    channel.flush()
    #expect(try passed() == [])
  }

  @Test func `a large write is not copied, and keeps its place`() throws {
    let large = GatheredWrites.largestCopy + 1
    channel.write(bytes(10, 1), promise: nil)
    channel.write(bytes(large, 2), promise: nil)
    channel.write(bytes(10, 3), promise: nil)
    channel.flush()
    var second = bytes(large, 2)
    second.writeRepeatingByte(3, count: 10)
    #expect(try passed() == [bytes(10, 1), second])
  }

  @Test func `no more is gathered than one record of TLS has`() throws {
    let count = GatheredWrites.record / 1000
    for _ in 0..<count + 1 { channel.write(bytes(1000, 1), promise: nil) }
    channel.flush()
    #expect(try passed().map(\.readableBytes) == [count * 1000, 1000])
  }

  @Test func `each write is done when what it is part of is done`() throws {
    let writes = (0..<3).map { _ in hasEnded(channel, bytes(10, 1)) }
    #expect(writes.allSatisfy { !$0.value })
    channel.flush()
    #expect(writes.allSatisfy { $0.value })
  }

  /// Writes.
  /// - Returns: whether the write has ended, by now.
  private func hasEnded(_ channel: EmbeddedChannel, _ bytes: ByteBuffer) -> NIOLoopBoundBox<Bool> {
    let hasEnded = NIOLoopBoundBox(false, eventLoop: channel.embeddedEventLoop)
    let promise = channel.embeddedEventLoop.makePromise(of: Void.self)
    promise.futureResult.whenComplete { _ in hasEnded.value = true }
    channel.write(bytes, promise: promise)
    return hasEnded
  }
}
