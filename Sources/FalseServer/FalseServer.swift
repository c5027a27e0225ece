internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A request that arrived, with the names of its fields in lower case.
package struct FalseRequest: Hashable, Sendable {
  package var method: String
  package var path: String
  package var fields: [String: String] = [:]
  package var body: [UInt8] = []

  package init(method: String, path: String, fields: [String: String] = [:]) {
    (self.method, self.path, self.fields) = (method, path, fields)
  }

  /// The first byte that is asked for: `bytes=5-`.
  package var rangeStart: Int64? {
    guard let text = fields["range"], text.hasPrefix("bytes="), text.hasSuffix("-") else { return nil }
    return Int64(text.dropFirst(6).dropLast())
  }
}

/// An answer of the server. It is sent as it is, however wrong it may be.
package struct FalseAnswer: Sendable {
  /// What happens after some bytes of the body.
  package enum Turn: Sendable {
    /// The connection is reset. The client may lose what it has not read.
    case reset
    /// The connection is closed as if nothing was wrong.
    case close
    /// Nothing more comes, and the connection stays open.
    case silence
  }

  package var status: Int
  package var fields: [(name: String, value: String)]
  package var body: ArraySlice<UInt8>
  /// How many times the body is sent, one after the other.
  package var repeats = 1
  /// Whether the body is sent in chunks, so that its length is not said.
  package var isChunked = false
  package var turn: (after: Int, Turn)?
  /// How long the server thinks before it answers, in milliseconds.
  package var thought = 0
  /// Is called when the bytes before `turn` have been sent, or the whole body.
  package var sent: @Sendable () -> Void = {}

  package init(_ status: Int, _ fields: [(name: String, value: String)] = [], body: ArraySlice<UInt8> = []) {
    (self.status, self.fields, self.body) = (status, fields, body)
  }
}

/// An HTTP server on loopback that answers as a test wants it to.
package final class FalseServer: Sendable {
  private let channel: any Channel
  private let connections: Connections

  package let port: Int
  /// The scheme, the host and the port.
  package let origin: String

  /// Starts a server.
  /// - Parameters:
  ///   - identity: the certificate and the key of the server in PEM; `nil` means a server without TLS.
  ///   - answer: is called for each request, on a thread of the server, so it must not wait.
  package init(
    identity: (certificate: String, key: String)? = nil, answer: @escaping @Sendable (FalseRequest) -> FalseAnswer
  ) async throws {
    let connections = Connections()
    let context = try identity.map { try Self.context($0.certificate, $0.key) }
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          connections.add(channel)
          let pipeline = channel.pipeline.syncOperations
          if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
          try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
          try pipeline.addHandler(Conversation(answer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    guard let port = channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
    (self.connections, self.port) = (connections, port)
    origin = (identity == nil ? "http" : "https") + "://127.0.0.1:\(port)"
  }

  private static func context(_ certificate: String, _ key: String) throws -> NIOSSLContext {
    let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
    let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
    return try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key)))
  }

  /// Closes every connection. New ones are answered.
  package func dropConnections() { connections.drop() }

  /// Ends every connection, and listens no more.
  package func stop() async {
    try? await channel.close()
    await connections.close()
  }
}

/// The open connections of a server.
private final class Connections: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  func add(_ channel: any Channel) {
    channels.withLock { $0[ObjectIdentifier(channel)] = channel }
    channel.closeFuture.whenComplete { [self] _ in
      channels.withLock { $0[ObjectIdentifier(channel)] = nil }
    }
  }

  func drop() { for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) } }

  func close() async {
    for channel in channels.withLock({ Array($0.values) }) { try? await channel.close() }
  }
}

/// One connection: reads requests, and answers each before the next one is read.
private final class Conversation: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = ByteBuffer

  private static let pieceBytes = 256 << 10

  private let answer: @Sendable (FalseRequest) -> FalseAnswer
  private var request: FalseRequest?

  init(_ answer: @escaping @Sendable (FalseRequest) -> FalseAnswer) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      var request = FalseRequest(method: head.method.rawValue, path: head.uri)
      for (name, value) in head.headers { request.fields[name.lowercased()] = value }
      self.request = request
    case .body(let bytes): request?.body += bytes.readableBytesView
    case .end:
      guard let request = request.take() else { return }
      let answer = answer(request)
      guard answer.thought > 0 else {
        send(answer, context: context)
        return
      }
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: .milliseconds(Int64(answer.thought))) {
        bound.value.0.send(answer, context: bound.value.1)
      }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func send(_ answer: FalseAnswer, context: ChannelHandlerContext) {
    var head = "HTTP/1.1 \(answer.status) Answer\r\n"
    for (name, value) in answer.fields { head += "\(name): \(value)\r\n" }
    if answer.isChunked { head += "Transfer-Encoding: chunked\r\n" }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head + "\r\n")), promise: nil)
    send(answer, from: 0, context: NIOLoopBound(context, eventLoop: context.eventLoop))
  }

  /// Sends the rest of a body, piece by piece, as fast as the client takes it.
  private func send(_ answer: FalseAnswer, from offset: Int, context: NIOLoopBound<ChannelHandlerContext>) {
    let end = min(answer.turn?.after ?? .max, answer.body.count * answer.repeats)
    guard offset < end else {
      finish(answer, context: context.value)
      return
    }
    let start = offset % answer.body.count
    let count = min(Self.pieceBytes, end - offset, answer.body.count - start)
    let piece = answer.body[(answer.body.startIndex + start)...].prefix(count)
    var bytes = ByteBuffer()
    if answer.isChunked { bytes.writeString(String(count, radix: 16) + "\r\n") }
    bytes.writeBytes(piece)
    if answer.isChunked { bytes.writeString("\r\n") }
    let own = NIOLoopBound(self, eventLoop: context.value.eventLoop)
    context.value.writeAndFlush(wrapOutboundOut(bytes)).whenSuccess {
      own.value.send(answer, from: offset + count, context: context)
    }
  }

  private func finish(_ answer: FalseAnswer, context: ChannelHandlerContext) {
    if answer.isChunked, answer.turn == nil {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "0\r\n\r\n")), promise: nil)
    }
    switch answer.turn?.1 {
    case nil, .silence?: break
    case .close?: context.close(promise: nil)
    case .reset?:
      let channel = context.channel
      guard let options = channel as? any SocketOptionProvider else { preconditionFailure("\(channel) is no socket") }
      options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
    answer.sent()
  }
}
