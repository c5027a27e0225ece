internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL

/// The HTTP client of the webhooks. It follows no redirects, so that a receiver cannot send facts elsewhere, and
/// repeats nothing by itself.
final class WebhookClient: Sendable {
  private let client: HTTPClient

  /// - Parameter certificates: a file with the certificates to trust, in PEM; `nil` means those of the system.
  init(certificates: String? = nil) throws {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    if let certificates {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(certificates))
      configuration.tlsConfiguration = tls
    }
    configuration.httpVersion = .http1Only
    // The spans of requests would not belong to the traces of jobs.
    configuration.tracing.tracer = nil
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.networkFrameworkWaitForConnectivity = false
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// Sends a request. It has no deadline: the caller cancels the task.
  func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    try await client.execute(request, deadline: .distantFuture)
  }

  deinit { client.shutdown { _ in } }
}
