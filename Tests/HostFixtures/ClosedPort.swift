#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A port of loopback that refuses connections as long as this value exists: a socket holds the port and does not
/// listen on it, so no other program can take it.
package final class ClosedPort: Sendable {
  private let descriptor: Int32
  /// `HOST:PORT`.
  package let address: String

  package init() {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bound in
        bind(descriptor, bound, length) == 0 && getsockname(descriptor, bound, &length) == 0
      }
    }
    precondition(isBound, "no port of 127.0.0.1 is free")
    address = "127.0.0.1:\(name.sin_port.byteSwapped)"
  }

  deinit { close(descriptor) }
}
