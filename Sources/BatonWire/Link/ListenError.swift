import BatonBase
import GRPCCore
import NIOCore

/// Why a daemon cannot listen on an address. The description says what to do.
package struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: Hashable, Sendable { case addressInUse, notPermitted, cannotListen }

  package let code: Code
  package let description: String

  /// The error for an address that is not loopback. What is not encrypted listens on loopback only (promise P14).
  package init(notLoopback endpoint: HostPort) {
    code = .notPermitted
    description =
      "\(endpoint) is not loopback, and unencrypted HTTP listens on loopback only: use 127.0.0.1:\(endpoint.port), "
      + "or the setting https"
  }

  /// The error for a coordinator whose own user could not reach it.
  package init(noSocket why: String) {
    code = .cannotListen
    description = "the Unix socket for this user's commands and workers cannot be made: \(why)"
  }

  /// The error for a failed system call.
  /// - Parameter number: the error number of the system call (errno(3)).
  package init(_ endpoint: HostPort, _ number: Int32) {
    switch number {
    case EADDRINUSE:
      code = .addressInUse
      description =
        "\(endpoint) is in use by another program, perhaps another coordinator or worker: stop it, or choose another "
        + "port"
    case EACCES:
      code = .notPermitted
      description = "this user may not listen on \(endpoint): choose a port above 1023"
    case EADDRNOTAVAIL:
      code = .cannotListen
      description = "\(endpoint) is not an address of this machine: use 127.0.0.1"
    default:
      code = .cannotListen
      description = "the listener on \(endpoint) failed: \(String(cString: strerror(number)))"
    }
  }

  /// Runs `body`, which listens on `endpoint`, and throws errors of the system as a `ListenError`. Other errors are
  /// thrown unchanged.
  package static func naming<Result>(_ endpoint: HostPort, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch {
      guard let number = systemErrorNumber(error) else { throw error }
      throw ListenError(endpoint, number)
    }
  }

  /// The error number of the system call that caused the error; `nil` if no system call did.
  private static func systemErrorNumber(_ error: any Error) -> Int32? {
    if let error = error as? IOError { return error.errnoCode }
    return (error as? RuntimeError)?.cause.flatMap(systemErrorNumber)
  }
}
