import BatonModel
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import BatonWire

/// What a door does with the channels of one listener. `AdmissionTests` has the decisions.
@Suite struct DoorTests {
  let door = Door(
    Admission.Limits(connections: 8, unproven: 4, unprovenPerAddress: 1, patience: .seconds(10)), what: "the test",
    logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { Instant(nanoseconds: 0) })

  /// A connection from this port of 127.0.0.1, which the door was asked about.
  private func connection(from port: Int) throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    let address = try SocketAddress.makeAddressResolvingHost("127.0.0.1", port: port)
    channel.remoteAddress = address
    try door.accept(channel)
    try channel.connect(to: address).wait()
    channel.embeddedEventLoop.run()
    return channel
  }

  @Test func `a connection that gives way to a new one is closed`() throws {
    let old = try connection(from: 1)
    let new = try connection(from: 2)
    old.embeddedEventLoop.run()
    #expect(!old.isActive && new.isActive)
    #expect(door.count == 1)
  }

  @Test func `a connection that has shown the token gives way to none`() throws {
    let old = try connection(from: 1)
    door.proven("ipv4:127.0.0.1:1")
    let new = try connection(from: 2)
    old.embeddedEventLoop.run()
    #expect(old.isActive && new.isActive)
    #expect(door.count == 2)
  }

  @Test func `what was decrypted is passed on in a buffer of about its size`() throws {
    let channel = EmbeddedChannel(handler: CompactReads())
    for (size, capacity) in [(100, 32_768), (20_000, 32_768), (0, 32_768)] {
      var bytes = channel.allocator.buffer(capacity: capacity)
      bytes.writeRepeatingByte(7, count: size)
      try channel.writeInbound(bytes)
      let read = try #require(try channel.readInbound(as: ByteBuffer.self))
      #expect(read == bytes)
      #expect(read.storageCapacity <= max(2 * size, 64), "\(size)")
    }
  }
}
