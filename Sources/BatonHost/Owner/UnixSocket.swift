import BatonBase
import BatonModel
package import BatonProcess
import CBatonHost

/// A stream socket in the file system (unix(7)) that carries lines. `line` and `send` may wait until their deadline, so
/// they must not run on a thread of Swift's task pool.
package struct UnixSocket: Sendable {
  /// The descriptor. It is closed when the last copy of this value is gone. Programs that this process starts do not
  /// inherit it.
  let file: OpenFile
  package var descriptor: Int32 { file.descriptor }

  init(owning descriptor: Int32) {
    file = OpenFile(descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    #if !os(Linux)
      var one: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout.size(ofValue: one)))
    #endif
  }

  /// Makes a socket. Returns `nil` if the system cannot make one; `errno` then has the reason.
  package static func make() -> UnixSocket? {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM), 0)
    #endif
    return descriptor < 0 ? nil : UnixSocket(owning: descriptor)
  }

  /// The longest path of a socket in bytes: 107 on Linux, 103 on macOS.
  package static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Calls `body` with the socket address of `path`. The path must not be longer than `longestPath`.
  static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    precondition(path.utf8.count <= longestPath, "the path of a socket is too long: \(path)")
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }

  /// Binds the socket to `path`. Returns 0 or an errno.
  package func bind(to path: String) -> Int32 {
    Self.withAddress(path) { bindSocket(descriptor, $0, $1) == 0 ? 0 : errno }
  }

  /// Connects to `path`. Returns 0 or an errno: `EAGAIN` if the other side listens but its queue is full (unix(7)).
  package func connect(to path: String) -> Int32 {
    Self.withAddress(path) { connectSocket(descriptor, $0, $1) == 0 ? 0 : errno }
  }

  /// Connects to a path of any length. Returns 0 or an errno.
  /// - Throws: `SystemError` if the path is too long and its folder cannot be opened.
  package func connect(toLong path: String) throws -> Int32 {
    if path.utf8.count <= Self.longestPath { return connect(to: path) }
    guard let end = path.lastIndex(of: "/") else { return ENAMETOOLONG }
    return try Self.shortening(path[path.index(after: end)...], in: OpenFolder(at: String(path[...end]))) {
      connect(to: $0)
    }
  }

  /// Calls `body` with a short path of a file in an open folder (proc(5)).
  package static func shortening<Result>(
    _ name: some StringProtocol, in folder: OpenFolder, _ body: (String) -> Result
  ) -> Result {
    defer { withExtendedLifetime(folder) {} }
    return body("/proc/self/fd/\(folder.descriptor)/\(name)")
  }

  /// Lets clients connect. Returns 0 or an errno.
  package func listen() -> Int32 { listenOnSocket(descriptor) == 0 ? 0 : errno }

  /// Accepts the next connection. Returns `nil` if no connection waits.
  package func accept() -> UnixSocket? {
    let connection = acceptSocket(descriptor, nil, nil)
    return connection < 0 ? nil : UnixSocket(owning: connection)
  }

  /// The user of the process at the other end; `nil` if the system does not tell.
  package var peerUser: UInt32? {
    var (user, group): (UInt32, UInt32) = (0, 0)
    return baton_peer(descriptor, &user, &group) == 0 ? user : nil
  }

  /// Shuts the connection down, which ends every wait on it. The descriptor stays open.
  package func close() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
}

extension UnixSocket {
  package enum Line: Hashable, Sendable {
    case line([UInt8])
    /// The other side has closed the connection.
    case ended
    case tooLong
    case late
  }

  /// Reads up to the first line break, and returns the line without it.
  /// - Parameter limit: the longest accepted line, in bytes.
  package func line(atMost limit: Int, until deadline: ContinuousClock.Instant) -> Line {
    var bytes: [UInt8] = []
    while true {
      guard wait(for: Int16(POLLIN), until: deadline) else { return .late }
      guard let chunk = SystemCall.read(descriptor, limit: 4096) else {
        if errno == EAGAIN { continue }
        return .ended
      }
      let end = chunk.firstIndex(of: UInt8(ascii: "\n"))
      bytes += chunk[..<(end ?? chunk.endIndex)]
      if bytes.count > limit { return .tooLong }
      if end != nil { return .line(bytes) }
      if chunk.isEmpty { return .ended }
    }
  }

  /// Sends all bytes. Returns `false` if the other side does not take them in time, or is gone.
  package func send(_ bytes: [UInt8], until deadline: ContinuousClock.Instant) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { sendBytes(descriptor, $0.baseAddress, $0.count) }
      if count > 0 { rest = rest.dropFirst(count) }
      if count < 0 && errno == EAGAIN {
        guard wait(for: Int16(POLLOUT), until: deadline) else { return false }
      } else if count < 0 && errno != EINTR {
        return false
      }
    }
    return true
  }

  private func wait(for events: Int16, until deadline: ContinuousClock.Instant) -> Bool {
    while true {
      let left = (deadline - .now).nanoseconds
      guard left > 0 else { return false }
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      let count = poll(&entry, 1, Int32(clamping: left / 1_000_000 + 1))
      if count > 0 { return true }
      if count < 0 && errno != EINTR { return false }
    }
  }
}

// Within `UnixSocket`, its members shadow the functions of the C library with the same names. These functions call the
// C library.
private func bindSocket(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
  bind(descriptor, address, size)
}
private func connectSocket(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
  connect(descriptor, address, size)
}
private func acceptSocket(
  _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ size: UnsafeMutablePointer<socklen_t>?
) -> Int32 { accept(descriptor, address, size) }
private func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  #if os(Linux)
    send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
  #else
    send(descriptor, bytes, count, 0)
  #endif
}
private func listenOnSocket(_ descriptor: Int32) -> Int32 { listen(descriptor, 64) }
