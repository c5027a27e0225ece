internal import AsyncHTTPClient
internal import BatonModel
internal import BatonProcess
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The HTTP client of all transfers of a host. It follows no redirects and repeats nothing by itself: the transfers
/// decide both.
final class WebClient: Sendable {
  private let client: HTTPClient

  /// - Parameter certificates: a file with the certificates to trust, in PEM; `nil` means those of the system.
  init(certificates: String?, atOnce: Int) throws {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    if let certificates {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificates))
      configuration.tlsConfiguration = tls
    }
    configuration.httpVersion = .http1Only
    configuration.tracing.tracer = nil
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(atOnce, 1)
    configuration.networkFrameworkWaitForConnectivity = false
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// Sends a request. It has no deadline: the caller cancels the task.
  func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    try await client.execute(request, deadline: .distantFuture)
  }

  func shutDown() async { try? await client.shutdown() }

  deinit { client.shutdown { _ in } }

  /// What an error of a connection means.
  static func end(_ error: any Error, _ address: WebAddress) -> AttemptEnd {
    let text = "\(error)"
    if error is NIOSSLExtraError || text.contains("CERTIFICATE_VERIFY_FAILED") {
      return .failed(
        TransferFailure(
          .untrustedCertificate,
          "The certificate of \(address.origin) is not trusted on this host. "
            + "Correct the server's certificate, or add its authority to those that the host trusts."))
    }
    if let error = error as? NIOConnectionError, error.connectionErrors.isEmpty {
      return .interrupted("the name \(address.host) does not resolve")
    }
    let hasBroken = (error as? IOError).map { [ECONNRESET, EPIPE].contains($0.errnoCode) }
    let isKnown = hasBroken != nil || error is NIOConnectionError
    let what = !isKnown ? "did not come about, or broke" : hasBroken == true ? "broke" : "did not come about"
    return .interrupted("the connection to \(address.origin) \(what): \(words(for: error).prefix(300))")
  }

  private static func words(for error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError: error.connectionErrors.first.map { words(for: $0.error) } ?? "\(error)"
    case let error as IOError: SystemCall.explanation(of: error.errnoCode)
    default: "\(error)"
    }
  }
}

extension ResponseHead {
  init(_ response: HTTPClientResponse) {
    self.init(Int(response.status.code))
    // The first field of a name counts. The fields that are read here occur once in a valid answer.
    for (name, value) in response.headers where fields[name.lowercased()] == nil { fields[name.lowercased()] = value }
  }
}
