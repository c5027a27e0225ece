import GRPCCore
import NIOCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Why a daemon cannot listen on an address; the description says what to do.
package struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable { case addressInUse, notPermitted, cannotListen }

  package let code: Code
  package let description: String

  /// Without TLS Baton listens on loopback only.
  package init(notLoopback endpoint: HostPort) {
    code = .notPermitted
    description =
      "\(endpoint) is not loopback, and without TLS Baton listens on loopback only: listen on 127.0.0.1:\(endpoint.port) "
      + "and forward the port over ssh (ssh -R \(endpoint.port):127.0.0.1:\(endpoint.port) HOST)"
  }

  /// - Parameter number: what the system said, of errno(3).
  package init(_ endpoint: HostPort, _ number: Int32) {
    switch number {
    case EADDRINUSE:
      code = .addressInUse
      description =
        "\(endpoint) is in use by another program, perhaps another coordinator or worker: stop it, or choose another port"
    case EACCES:
      code = .notPermitted
      description = "\(endpoint) may not be listened on by this user: choose a port above 1023"
    case EADDRNOTAVAIL:
      code = .cannotListen
      description = "\(endpoint) is no address of this machine: use 127.0.0.1"
    default:
      code = .cannotListen
      description = "the listener on \(endpoint) failed: \(String(cString: strerror(number)))"
    }
  }

  /// Runs `body`, which listens on `endpoint`, with the system's errors said in this way.
  package static func naming<Result>(_ endpoint: HostPort, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch {
      guard let number = systemErrorNumber(error) else { throw error }
      throw ListenError(endpoint, number)
    }
  }

  /// nil if the system's word is not the cause.
  private static func systemErrorNumber(_ error: any Error) -> Int32? {
    if let error = error as? IOError { return error.errnoCode }
    return (error as? RuntimeError)?.cause.flatMap(systemErrorNumber)
  }
}
