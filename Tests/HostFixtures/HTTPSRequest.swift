import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// One request over HTTPS, to a server on loopback whose certificate has a name of its own.
package struct HTTPSRequest: Sendable {
  package struct Answer: Hashable, Sendable {
    package var status: UInt
    package var text: String
  }

  package var path: String
  package var method = "GET"
  package var headers: [(String, String)] = []
  package var body: String?

  package init(_ path: String, method: String = "GET", token: String? = nil, body: String? = nil) {
    (self.path, self.method, self.body) = (path, method, body)
    if let token { headers.append(("authorization", token)) }
  }

  /// Sends the request, and checks the server's certificate.
  /// - Parameters:
  ///   - name: the name in the certificate.
  ///   - roots: the roots to trust (PEM).
  package func send(to name: String, port: Int, trusting roots: String) async throws -> Answer {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(roots.utf8)))
    var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
    configuration.dnsOverride = [name: "127.0.0.1"]
    let client = HTTPClient(configuration: configuration)
    do {
      var request = HTTPClientRequest(url: "https://\(name):\(port)\(path)")
      request.method = HTTPMethod(rawValue: method)
      for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
      if let body { request.body = .bytes(ByteBuffer(string: body)) }
      let response = try await client.execute(request, timeout: .seconds(60))
      let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
      try await client.shutdown()
      return Answer(status: response.status.code, text: text)
    } catch {
      try? await client.shutdown()
      throw error
    }
  }
}
