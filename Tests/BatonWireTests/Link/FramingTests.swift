import BatonModel
import BatonProtobuf
import BatonWire
import Testing

/// How messages are divided into frames.
@Suite struct FramingTests {
  @Test(arguments: [(WireLimits.frame.most, 1), (WireLimits.frame.most + 1, 2), (2 * WireLimits.frame.most + 1, 3)])
  func `a frame has at most as many messages as a receiver accepts`(count: Int, frames: Int) {
    let messages = (0..<count).map { WorkerMessage.heartbeat(number: $0) }
    let divided = Framing.frames(messages)
    #expect(divided.count == frames)
    #expect(divided.allSatisfy { $0.messages.count <= WireLimits.frame.most })
    #expect(divided.map(\.messages.count).reduce(0, +) == count)
  }
}
