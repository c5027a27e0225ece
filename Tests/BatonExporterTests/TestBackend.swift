import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A backend for one test, on a free port of the loopback. It gives the test's answers in order, and keeps the
/// requests.
final class TestBackend: Sendable {
  enum Answer: Sendable {
    case status(Int, headers: [(String, String)] = [], body: [UInt8] = [])
    /// The connection is closed without an answer.
    case close
    /// The head of an answer that has a body, and then the end of the connection.
    case headOnly
    /// The status 400 and 100 kB of a longer text, and then nothing.
    case endless
    /// No answer, on an open connection.
    case silence
    /// The head of an answer, and then nothing.
    case stall
  }

  struct Request: Sendable {
    var method: String
    var path: String
    var headers: HTTPHeaders
    var body: [UInt8]
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let answers: Mutex<[Answer]>
  private let announcement: AsyncStream<Request>.Continuation
  /// The requests, in the order in which they arrived.
  let requests: AsyncStream<Request>

  init(_ answers: [Answer]) {
    self.answers = Mutex(answers)
    (requests, announcement) = AsyncStream.makeStream()
  }

  /// Runs `body` with the backend's URL, and stops it afterwards.
  func serve<Result: Sendable>(_ body: @Sendable (String) async throws -> Result) async throws -> Result {
    let channel = try await bootstrap().bind(host: "127.0.0.1", port: 0).get()
    let url = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/v1/traces"
    let result: Swift.Result<Result, any Error>
    do { result = .success(try await body(url)) } catch { result = .failure(error) }
    try await channel.close()
    try await group.shutdownGracefully()
    return try result.get()
  }

  private func bootstrap() -> ServerBootstrap {
    ServerBootstrap(group: group).serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Connection(backend: self))
        }
      }
  }

  fileprivate func answer(to request: Request) -> Answer {
    announcement.yield(request)
    return answers.withLock { $0.isEmpty ? .status(200) : $0.removeFirst() }
  }
}

/// One connection: a whole request is read, then answered.
private final class Connection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let backend: TestBackend
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  init(backend: TestBackend) { self.backend = backend }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): (self.head, body) = (head, [])
    case .body(let part): body += part.readableBytesView
    case .end:
      guard let head else { return }
      let request = TestBackend.Request(
        method: "\(head.method)", path: head.uri, headers: head.headers, body: body)
      perform(backend.answer(to: request), context)
    }
  }

  private func perform(_ answer: TestBackend.Answer, _ context: ChannelHandlerContext) {
    switch answer {
    case .status(let status, let headers, let body):
      write(status, headers, length: body.count, body, context)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    case .close: context.close(promise: nil)
    case .headOnly:
      write(200, [], length: 10, [], context)
      context.flush()
      context.close(promise: nil)
    case .endless:
      write(400, [], length: 1_000_000, Array(repeating: UInt8(ascii: "a"), count: 100_000), context)
      context.flush()
    case .silence: break
    case .stall:
      write(200, [], length: 10, [], context)
      context.flush()
    }
  }

  private func write(
    _ status: Int, _ headers: [(String, String)], length: Int, _ body: [UInt8], _ context: ChannelHandlerContext
  ) {
    var fields = HTTPHeaders(headers)
    fields.replaceOrAdd(name: "Content-Length", value: "\(length)")
    let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: fields)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
  }
}
