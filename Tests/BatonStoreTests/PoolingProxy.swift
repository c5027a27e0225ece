import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A pooler before the socket of a PostgreSQL server. In transaction mode it gives each transaction of a client the
/// other one of two connections to the server, as PgBouncer may do with `pool_mode = transaction`. In session mode a
/// client keeps its connection. The server must let its users in without a password.
final class PoolingProxy: Sendable {
  let folder: String
  private let listener: Int32
  private let target: String
  private let isPerTransaction: Bool

  /// - Parameter target: the path of the server's socket.
  init(_ target: String, isPerTransaction: Bool) throws {
    (self.target, self.isPerTransaction) = (target, isPerTransaction)
    folder = "/tmp/baton-pool-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = UnixSocket.withAddress(folder + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
    guard bound == 0, listen(listener, 16) == 0 else { throw CocoaError(.featureUnsupported) }
    Thread { [self] in while accepts() {} }.start()
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func accepts() -> Bool {
    let client = accept(listener, nil, nil)
    guard client >= 0 else { return false }
    let servers = (0..<2).map { _ in
      let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      _ = UnixSocket.withAddress(target) { connect(server, $0, $1) }
      return server
    }
    let session = Session(client: client, servers: servers, isPerTransaction: isPerTransaction)
    Thread { session.takeRequests() }.start()
    for number in servers.indices { Thread { session.takeAnswers(of: number) }.start() }
    return true
  }

  /// One client.
  private final class Session: Sendable {
    let client: Int32
    let servers: [Int32]
    let isPerTransaction: Bool
    /// The connection of the present transaction.
    let current = Mutex(0)

    init(client: Int32, servers: [Int32], isPerTransaction: Bool) {
      (self.client, self.servers, self.isPerTransaction) = (client, servers, isPerTransaction)
    }

    func takeRequests() {
      var isFirst = true
      while let bytes = UnixSocket.read(client) {
        // Both connections log in with the client's first message.
        let receivers = isFirst ? servers : [servers[current.withLock { $0 }]]
        isFirst = false
        for server in receivers { UnixSocket.write(bytes, to: server) }
      }
      for server in servers { shutdown(server, Int32(SHUT_RDWR)) }
    }

    func takeAnswers(of number: Int) {
      var rest: [UInt8] = []
      var hasLoggedIn = false
      while let bytes = UnixSocket.read(servers[number]) {
        rest += bytes
        while let message = Self.message(in: rest) {
          rest.removeFirst(message.count)
          let isReady = message.first == UInt8(ascii: "Z")
          // The client hears of the login of the first connection only.
          if number == 0 || hasLoggedIn {
            let next = isReady && hasLoggedIn && isPerTransaction && message.last == UInt8(ascii: "I")
            if next { current.withLock { $0 = 1 - number } }
            UnixSocket.write(message, to: client)
          }
          if isReady { hasLoggedIn = true }
        }
      }
      shutdown(client, Int32(SHUT_RDWR))
    }

    /// The first message: a type, its length in four bytes, which count too, and what it says.
    private static func message(in bytes: [UInt8]) -> [UInt8]? {
      guard bytes.count >= 5 else { return nil }
      let length = bytes[1...4].reduce(0) { $0 << 8 | Int($1) }
      return bytes.count > length ? Array(bytes[...length]) : nil
    }
  }
}

/// Blocking calls for Unix sockets.
enum UnixSocket {
  static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// The bytes that have arrived; `nil` at the end.
  static func read(_ descriptor: Int32) -> ArraySlice<UInt8>? {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? buffer[..<count] : nil
  }

  /// - Returns: false if the other side takes no more.
  @discardableResult
  static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Bool {
    var rest = ArraySlice(bytes)
    while !rest.isEmpty {
      let part = rest.withUnsafeBytes { send(descriptor, $0.baseAddress!, rest.count, Int32(MSG_NOSIGNAL)) }
      guard part > 0 else { return false }
      rest = rest.dropFirst(part)
    }
    return true
  }
}
