#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server on 127.0.0.1 to which a client can connect, and which never says a word.
final class SilentServer {
  private let listener: Int32
  let port: UInt16

  init?() {
    #if canImport(Glibc)
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let file = listener
    let isListening = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(file, address, length) == 0 && listen(file, 8) == 0 && getsockname(file, address, &length) == 0
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    if !isListening { return nil }
  }

  deinit { close(listener) }
}
