import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A connection without a protocol, as a hostile client makes it over TCP.
package final class RawConnection: Sendable {
  private let descriptor: Int32

  /// - Throws: `POSIXError` if nothing listens there.
  package init(port: Int) throws {
    descriptor = Self.socket()
    try Self.check(Self.withAddress(port: port) { connect(descriptor, $0, $1) })
  }

  /// Through a Unix socket.
  /// - Throws: `POSIXError` if nothing listens there.
  package init(socket path: String) throws {
    descriptor = Self.socket(AF_UNIX)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try Self.check(result)
  }

  private static func check(_ result: Int32) throws {
    guard result != 0 else { return }
    throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
  }

  fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  package func send(_ text: String) { send(Array(text.utf8)) }

  /// Bytes that the peer does not want any more are lost; false once it has closed the connection.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool { Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 }

  /// Everything that the peer sends until it closes the connection.
  package func untilClosed() async -> [UInt8] {
    await onThread {
      var received: [UInt8] = []
      while let part = self.read() { received += part }
      return received
    }
  }

  /// What comes next; nil once the peer has closed the connection.
  package func next() async -> [UInt8]? { await onThread { self.read() } }

  /// Whether the peer has closed the connection, and nothing that it sent is left to read.
  package var isClosed: Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN
  }

  fileprivate func read() -> [UInt8]? {
    var part = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &part, part.count, 0)
    return count > 0 ? Array(part[..<count]) : nil
  }

  fileprivate static func socket(_ family: Int32 = AF_INET) -> Int32 {
    Glibc.socket(family, Int32(SOCK_STREAM.rawValue), 0)
  }

  fileprivate static func withAddress<Result>(
    port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(port).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}

/// A program that has taken a coordinator's port: it reads what comes, and hangs up.
package final class Squatter: Sendable {
  package let port: Int
  private let descriptor: Int32

  package init() {
    let listener = RawConnection.socket()
    _ = RawConnection.withAddress(port: 0) { bind(listener, $0, $1) }
    listen(listener, 16)
    descriptor = listener
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    port = Int(address.sin_port.byteSwapped)
  }

  deinit { close(descriptor) }

  /// What the next client sends before it waits for an answer.
  package func heard() async -> [UInt8] {
    await onThread {
      let accepted = accept(self.descriptor, nil, nil)
      guard accepted >= 0 else { return [] }
      let connection = RawConnection(accepted)
      // An HTTP/2 server's settings, so that the client goes on to its first call.
      connection.send([0, 0, 0, 4, 0, 0, 0, 0, 0])
      var received: [UInt8] = []
      // The client's first call has its path in it, as it is or compressed; its end is a frame of data.
      while let part = connection.read() {
        received += part
        if Self.hasData(received) { break }
      }
      return received
    }
  }

  /// Whether a DATA frame came: then a call was made.
  private static func hasData(_ bytes: [UInt8]) -> Bool {
    var at = 24
    while at + 9 <= bytes.count {
      if bytes[at + 3] == 0 { return true }
      at += 9 + Int(bytes[at]) << 16 + Int(bytes[at + 1]) << 8 + Int(bytes[at + 2])
    }
    return false
  }

  /// Whether anybody has connected.
  package var hasVisitors: Bool {
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) > 0
  }
}

/// Blocks a thread of its own, rather than one that tasks run on.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread { continuation.resume(returning: body()) }.start()
  }
}
