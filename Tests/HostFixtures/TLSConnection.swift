import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// A connection over TLS without a protocol, as a hostile client makes it: it has completed the handshake.
package final class TLSConnection: Sendable {
  private let channel: any Channel
  private let recorder: Recorder

  /// - Parameters:
  ///   - name: the name in the server's certificate.
  ///   - roots: the roots to trust (PEM).
  ///   - own: the client's own certificate and its key (PEM).
  /// - Throws: an error if the handshake fails.
  package init(
    port: Int, name: String, trusting roots: String, own: (certificate: String, key: String)? = nil,
    protocols: [String] = ["h2"]
  ) async throws {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(roots.utf8)))
    configuration.applicationProtocols = protocols
    if let own {
      configuration.certificateChain = try [own.certificate].chain
      configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(own.key.utf8), format: .pem))
    }
    let context = try NIOSSLContext(configuration: configuration)
    let recorder = Recorder()
    channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).channelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let tls = try NIOSSLClientHandler(context: context, serverHostname: name)
        try channel.pipeline.syncOperations.addHandlers(tls, RecordingHandler(recorder))
      }
    }.connect(host: "127.0.0.1", port: port).get()
    self.recorder = recorder
    for await _ in recorder.handshakes { return }
    throw ChannelError.eof
  }

  package func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

  /// Everything that the peer sends until it closes the connection.
  package func untilClosed() async -> [UInt8] {
    try? await channel.closeFuture.get()
    return recorder.heard
  }
}

/// A program that has taken a coordinator's port and speaks TLS: it completes each handshake, notes what its client
/// sends, and hangs up at the first byte.
package final class TLSSquatter: Sendable {
  private let channel: any Channel
  private let visits: AsyncStream<[UInt8]>

  /// - Parameters:
  ///   - chain: the certificates that it shows (PEM), its own first.
  ///   - key: the key of the first one (PEM).
  package init(_ chain: [String], key: String) async throws {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try chain.chain,
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
    configuration.applicationProtocols = ["h2"]
    let context = try NIOSSLContext(configuration: configuration)
    let (visits, ended) = AsyncStream.makeStream(of: [UInt8].self)
    self.visits = visits
    channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup).childChannelInitializer {
      channel in
      channel.eventLoop.makeCompletedFuture {
        let recorder = Recorder()
        try channel.pipeline.syncOperations.addHandlers(
          NIOSSLServerHandler(context: context), RecordingHandler(recorder, hangsUp: true))
        channel.closeFuture.whenComplete { _ in ended.yield(recorder.heard) }
      }
    }.bind(host: "127.0.0.1", port: 0).get()
  }

  deinit { channel.close(promise: nil) }

  package var port: Int { channel.localAddress?.port ?? 0 }

  /// What the next client has sent over TLS when its connection ends.
  package func visit() async -> [UInt8] {
    for await heard in visits { return heard }
    return []
  }
}

extension [String] {
  fileprivate var chain: [NIOSSLCertificateSource] {
    get throws { try flatMap { try NIOSSLCertificate.fromPEMBytes([UInt8]($0.utf8)) }.map { .certificate($0) } }
  }
}

/// What is heard on a connection.
private final class Recorder: Sendable {
  private let bytes = Mutex<[UInt8]>([])
  /// Has an element when the handshake is complete, and ends with the connection.
  let handshakes: AsyncStream<Void>
  private let handshake: AsyncStream<Void>.Continuation

  init() { (handshakes, handshake) = AsyncStream.makeStream() }

  var heard: [UInt8] { bytes.withLock { $0 } }
  func note(_ more: [UInt8]) { bytes.withLock { $0 += more } }
  func noteHandshake() { handshake.yield() }
  func noteEnd() { handshake.finish() }
}

private final class RecordingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let recorder: Recorder
  private let hangsUp: Bool

  init(_ recorder: Recorder, hangsUp: Bool = false) { (self.recorder, self.hangsUp) = (recorder, hangsUp) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { recorder.noteHandshake() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    recorder.note(Array(unwrapInboundIn(data).readableBytesView))
    if hangsUp { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) { recorder.noteEnd() }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
