import BatonBase
import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import BatonCoordinator

/// Calls that go through the token's check and the workers' service without a network.
@Suite(.timeLimit(.minutes(10))) struct CallTests {
  // MARK: The token

  /// Opens a connection from this port of 127.0.0.1, and asks the door about it.
  private func connection(from port: Int, to door: Door) async throws -> NIOAsyncTestingChannel {
    let channel = NIOAsyncTestingChannel()
    let address = try SocketAddress.makeAddressResolvingHost("127.0.0.1", port: port)
    channel.remoteAddress = address
    try await channel.testingEventLoop.executeInContext { try door.accept(channel) }
    try await channel.connect(to: address)
    return channel
  }

  /// An address may have one connection that has shown no token.
  @Test(arguments: [true, false])
  func `a connection gives way to a new one unless it has shown the token`(isRight: Bool) async throws {
    let door = Door(
      Admission.Limits(connections: 8, unproven: 4, unprovenPerAddress: 1, patience: .seconds(10)), what: "the test",
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { Instant(nanoseconds: 0) })
    let old = try await connection(from: 1, to: door)
    let interceptor = OperatorInterceptor(
      gate: Gate(
        proof: .owner(token: "right", name: "ana"), coordinator: try OperatorFixture().coordinator, door: door))
    let answer = try? await withServerContextRPCCancellationHandle { cancellation in
      try await interceptor.intercept(
        request: StreamingServerRequest(
          metadata: ["authorization": "Bearer \(isRight ? "right" : "wrong")"], messages: Self.noMessages),
        context: Self.context(cancellation)
      ) { _, _ in StreamingServerResponse<UInt8> { _ in [:] } }
    }
    #expect((answer != nil) == isRight)
    _ = try await connection(from: 2, to: door)
    await old.testingEventLoop.run()
    #expect(old.isActive == isRight)
    #expect(door.count == (isRight ? 2 : 1))
  }

  private static func context(_ cancellation: ServerContext.RPCCancellationHandle) -> ServerContext {
    ServerContext(
      descriptor: MethodDescriptor(fullyQualifiedService: "baton.v1.Operators", method: "Hosts"),
      remotePeer: "ipv4:127.0.0.1:1", localPeer: "", cancellation: cancellation)
  }

  private static var noMessages: RPCAsyncSequence<UInt8, any Error> {
    RPCAsyncSequence(wrapping: AsyncThrowingStream { $0.finish() })
  }

  // MARK: The workers' service

  /// The writer of the answers holds the first answer back until the service reads nothing more from the worker. The
  /// reason why the worker is refused is then still to be written.
  @Test func `what was said before the end of a connection is still written`() async throws {
    let fixture = try OperatorFixture()
    var nonsense = Baton_V1_WorkerFrame()
    nonsense.messages = [Baton_V1_WorkerMessage()]
    let writer = HeldWriter()
    let frames = Frames(Framing.frames([.hello(Desk.hello())]) + [nonsense], second: writer.isWriting)
    try await withServerContextRPCCancellationHandle { cancellation in
      async let served: Void = WorkersService(coordinator: fixture.coordinator).connect(
        request: RPCAsyncSequence(wrapping: frames), response: RPCWriter(wrapping: writer),
        context: Self.context(cancellation))
      await frames.isOver.wait()
      for _ in 1...1_000 { await Task.yield() }
      writer.mayWrite.raise()
      try await served
    }
    let said = writer.said.withLock { $0 }
    guard case .refused? = said.last?.kind else {
      Issue.record("the last message is \(String(describing: said.last))")
      return
    }
  }

  /// Yields its frames, the second one not before `second` is raised. It raises `isOver` when nothing more is read.
  private struct Frames: AsyncSequence, Sendable {
    let frames: [Baton_V1_WorkerFrame]
    let second: BatonBase.Signal
    let isOver = BatonBase.Signal()

    init(_ frames: [Baton_V1_WorkerFrame], second: BatonBase.Signal) {
      self.frames = frames
      self.second = second
    }

    func makeAsyncIterator() -> Reader { Reader(self) }

    final class Reader: AsyncIteratorProtocol {
      private let sequence: Frames
      private var next = 0

      init(_ sequence: Frames) { self.sequence = sequence }
      deinit { sequence.isOver.raise() }

      func next() async throws -> Baton_V1_WorkerFrame? {
        guard next < sequence.frames.count else { return nil }
        if next == 1 { await sequence.second.wait() }
        next += 1
        return sequence.frames[next - 1]
      }
    }
  }

  private final class HeldWriter: RPCWriterProtocol {
    let isWriting = BatonBase.Signal()
    let mayWrite = BatonBase.Signal()
    let said = Mutex<[Baton_V1_CoordinatorMessage]>([])

    func write(_ frame: Baton_V1_CoordinatorFrame) async {
      isWriting.raise()
      if said.withLock({ $0.isEmpty }) { await mayWrite.wait() }
      said.withLock { $0 += frame.messages }
    }

    func write(contentsOf frames: some Sequence<Baton_V1_CoordinatorFrame>) async {
      for frame in frames { await write(frame) }
    }
  }
}
