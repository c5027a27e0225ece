import BatonBase
import BatonModel
import BatonWire
import GRPCCore
import GRPCNIOTransportHTTP2Posix

/// Lets in only hosts of the fleet (promise P14): the certificate of the connection must be one that the fleet's
/// authority has given to a host, and that has neither ended nor been revoked. Every call is checked, because a
/// connection may last longer than a certificate, and a resumed TLS session repeats no check.
struct HostInterceptor: ServerInterceptor {
  let identities: HostIdentities
  let door: Door
  let coordinator: Coordinator

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next: @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    do { _ = try identities.caller(context, at: coordinator.clocks.date()) } catch {
      door.dismiss(context.remotePeer)
      await coordinator.callAudit.noteDenied(
        .certificate, from: context.remotePeer, calling: context.descriptor.method)
      throw error
    }
    door.proven(context.remotePeer)
    return try await next(request, context)
  }
}

extension HostIdentities {
  /// The host that makes a call.
  /// - Throws: an `RPCError` if the connection's certificate proves nothing. A connection without a certificate has
  ///   none that could.
  func caller(_ context: ServerContext, at now: Timestamp) throws -> HostCaller {
    let connection = context.transportSpecific as? HTTP2ServerTransport.Posix.Context
    guard let certificate = connection?.peerCertificate else {
      throw RPCError(code: .unauthenticated, message: CertificateDoubt.foreign.reason)
    }
    guard let caller = caller(certificate, at: now) else {
      throw RPCError(code: .unauthenticated, message: doubt(about: certificate, at: now).reason)
    }
    return caller
  }
}
