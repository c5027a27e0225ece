internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL

/// The HTTP client of one exporter. Shut down by `shutDown`, or else when nobody has it any more.
final class ExporterClient: Sendable {
  private let client: HTTPClient

  /// - Parameter trustRoots: nil for the system's.
  init(trustRoots: [NIOSSLCertificate]? = nil) {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    if let trustRoots {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .certificates(trustRoots)
      configuration.tlsConfiguration = tls
    }
    // The client would make a span of each export, which would be exported, which would make a span.
    configuration.tracing.tracer = nil
    // When to try again is decided elsewhere.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.networkFrameworkWaitForConnectivity = false
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// Whether a bootstrapped tracer makes spans of the requests.
  var isTraced: Bool { client.tracer != nil }

  /// The certificates of a PEM file. Throws what NIOSSL says of a file that cannot be read or has none.
  static func certificates(inFile path: String) throws -> [NIOSSLCertificate] {
    try NIOSSLCertificate.fromPEMFile(path)
  }

  /// The exporter bounds the time, by cancelling.
  func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
    try await client.execute(request, deadline: .distantFuture)
  }

  /// Closes the connections. What is sent afterwards is unreachable. Asking twice changes nothing.
  func shutDown() async {
    // The only error is that it was shut down before.
    try? await client.shutdown()
  }

  deinit {
    // Keeps itself alive until it is done; after `shutDown` it has nothing to do.
    client.shutdown { _ in }
  }
}
