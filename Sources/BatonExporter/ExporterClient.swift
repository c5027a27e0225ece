internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL

/// The HTTP client of one exporter. It is shut down by `shutDown`, or when the last reference to it is gone.
final class ExporterClient: Sendable {
  private let client: HTTPClient

  /// - Parameter trustRoots: the certificates to trust; `nil` to trust the system's.
  init(trustRoots: [NIOSSLCertificate]? = nil) {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    if let trustRoots {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(trustRoots)
      configuration.tlsConfiguration = tls
    }
    // The client would make a span for each export, and that span would be exported in its turn.
    configuration.tracing.tracer = nil
    // The callers of the exporter decide when to try again.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.networkFrameworkWaitForConnectivity = false
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// Whether the client makes spans of its requests. Tests check that it does not.
  var isTraced: Bool { client.tracer != nil }

  /// Reads the certificates of a PEM file. Throws NIOSSL's error if the file cannot be read or contains no certificate.
  static func certificates(inFile path: String) throws -> [NIOSSLCertificate] {
    try NIOSSLCertificate.fromPEMFile(path)
  }

  /// Sends a request. It has no deadline of its own: `OTLPExporter` limits the time by cancelling the task.
  func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    try await client.execute(request, deadline: .distantFuture)
  }

  /// Closes the connections. Requests that are sent afterwards fail. Further calls do nothing.
  func shutDown() async {
    // The only possible error is that the client has been shut down before.
    try? await client.shutdown()
  }

  deinit {
    // The client keeps itself alive until its shutdown is complete. After `shutDown` this call has no effect.
    client.shutdown { _ in }
  }
}
