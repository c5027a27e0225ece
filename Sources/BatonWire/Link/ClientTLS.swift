import BatonBase
package import BatonIdentity
import BatonModel
import NIOCore
import NIOSSL
import NIOTLS
import Synchronization
import X509

/// How a client on another machine recognises the coordinator, and how it proves its own name.
package enum ClientTrust: Sendable {
  /// The client has only the pin: it is about to join the fleet.
  case pin(Pin)
  /// A host that has joined: it has the roots, and shows its own certificate.
  case host(HostIdentity)
  /// A host whose certificate has ended: it has the roots, and proves its name in the call.
  case rejoining(HostIdentity)
  /// An operator who has logged in: the operator has the roots, and shows a credential in each call.
  case login(FleetLogin)
}

extension ClientTrust {
  /// What the user can do if nothing answers at the address, as an order.
  var remedy: String {
    switch self {
    case .pin:
      "check the address, and that a coordinator listens there for operators and hosts that join (baton coordinator "
        + "--operators HOST:PORT)"
    case .login: "check that the coordinator runs, or log in with its present address (baton login)"
    case .host, .rejoining: "check that the coordinator runs, and that this host reaches its port"
    }
  }
}

/// TLS on the one connection of a client. The client sends nothing before it has recognised the coordinator.
final class ClientTLS: Sendable {
  private struct State {
    var root: Certificate?
    var refusal: String?
    var failure: TLSFailure?
  }

  private let context: NIOSSLContext
  private let pin: Pin?
  /// The name that the coordinator's certificate must have.
  private let serverName: String?
  private let state = Mutex(State())

  init(_ trust: ClientTrust) throws(IdentityError) {
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv13
      configuration.applicationProtocols = ["h2"]
      switch trust {
      case .pin(let pin):
        (self.pin, serverName) = (pin, nil)
        // With this setting the handler asks for certificates, and `recognise` takes the place of the library's check.
        configuration.certificateVerification = .noHostnameVerification
      case .host(let identity):
        // The name is that of the fleet's coordinators, whatever the address.
        (pin, serverName) = (nil, FleetAuthority.coordinatorName(identity.fleet))
        try configuration.trust(identity.roots)
        configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
          .map { .certificate($0) }
        configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
      case .rejoining(let identity):
        (pin, serverName) = (nil, FleetAuthority.coordinatorName(identity.fleet))
        try configuration.trust(identity.roots)
      case .login(let login):
        (pin, serverName) = (nil, FleetAuthority.coordinatorName(login.fleet))
        try configuration.trust(login.roots)
      }
      context = try NIOSSLContext(configuration: configuration)
    } catch {
      let why = TLSFailure(error).map { "\($0)" } ?? "\(error)"
      throw IdentityError("the identity of this host cannot be used for TLS: \(why)")
    }
  }

  /// The name for `:authority` of calls.
  var authority: String { serverName ?? "coordinator.baton" }

  /// The root whose pin the client has; `nil` before the handshake, and for a client that has the roots already.
  var root: Certificate? { state.withLock { $0.root } }

  /// Why the handshake has failed, or the coordinator has ended the connection; `nil` if it has not.
  var refusal: String? { state.withLock { $0.refusal } }

  /// What went wrong in TLS; `nil` as long as nothing has. A coordinator refuses a certificate after the handshake
  /// (TLS 1.3), when calls may have begun.
  var failure: TLSFailure? { state.withLock { $0.failure } }

  /// Adds TLS to a connection, before anything else is added.
  /// - Returns: a future that succeeds when the handshake is complete, and fails with an `IdentityError`.
  func add(to channel: any Channel) throws -> EventLoopFuture<Void> {
    let handler =
      if let pin {
        try NIOSSLClientHandler(context: context, serverHostname: nil) { [self] certificates, promise in
          promise.succeed(recognise(certificates, pin) ? .certificateVerified : .failed)
        }
      } else {
        try NIOSSLClientHandler(context: context, serverHostname: serverName)
      }
    let promise = channel.eventLoop.makePromise(of: Void.self)
    try channel.pipeline.syncOperations.addHandlers(handler, HandshakeWatcher(self, promise), GatheredWrites())
    return promise.futureResult
  }

  private func recognise(_ certificates: [NIOSSLCertificate], _ pin: Pin) -> Bool {
    do {
      let root = try CoordinatorCheck.root(
        pinned: pin, among: try certificates.map { try $0.toDERBytes() }, at: SystemClocks.date())
      state.withLock { $0.root = root }
      return true
    } catch {
      note(refusal: "\(error)")
      return false
    }
  }

  /// Keeps the first reason.
  fileprivate func note(refusal: String) { state.withLock { $0.refusal = $0.refusal ?? refusal } }

  fileprivate func note(_ failure: TLSFailure) { state.withLock { $0.failure = $0.failure ?? failure } }
}

extension TLSConfiguration {
  /// Takes only servers whose certificate comes from one of these roots (PEM), and has the right name.
  fileprivate mutating func trust(_ roots: [String]) throws {
    certificateVerification = .fullVerification
    trustRoots = .certificates(try roots.flatMap { try NIOSSLCertificate.fromPEMBytes(Array($0.utf8)) })
  }
}

/// Completes a promise at the end of the handshake, and keeps the reason of a failure.
private final class HandshakeWatcher: ChannelInboundHandler {
  typealias InboundIn = Any

  private let tls: ClientTLS
  private var promise: EventLoopPromise<Void>?

  init(_ tls: ClientTLS, _ promise: EventLoopPromise<Void>) { (self.tls, self.promise) = (tls, promise) }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted(let chosen)? = event as? TLSUserEvent {
      if chosen == "h2" {
        promise.take()?.succeed()
      } else {
        fail(
          "it does not speak HTTP/2 over TLS; the port of --https is for programs, and 'baton fleet' names the others")
      }
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let failure = TLSFailure(error) {
      tls.note(failure)
      fail("\(failure)")
    }
    context.fireErrorCaught(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail("it closed the connection")
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { fail("it closed the connection") }

  private func fail(_ why: String) {
    guard let promise = promise.take() else { return tls.note(refusal: why) }
    tls.note(refusal: why)
    promise.fail(IdentityError(tls.refusal ?? why))
  }
}
