import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A proxy before the socket of a PostgreSQL server. When it is armed, it hides the next answer to a COMMIT: the server
/// has committed, and the client's connection ends without an answer. It can then keep the server out of reach.
final class CuttingProxy: Sendable {
  let folder: String
  private let listener: Int32
  private let target: String
  private let armed = Mutex(false)
  private let cuts = Mutex(0)
  private let isClosed = Mutex(false)
  private let closesAfterwards = Mutex(false)

  /// - Parameter target: the path of the server's socket.
  init(_ target: String) throws {
    self.target = target
    folder = "/tmp/baton-proxy-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = Self.withAddress(folder + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
    guard bound == 0, listen(listener, 16) == 0 else { throw CocoaError(.featureUnsupported) }
    Thread { [self] in while accepts() {} }.start()
  }

  /// - Parameter closes: whether the server is out of reach from the next hidden answer on.
  func arm(closes: Bool = false) {
    closesAfterwards.withLock { $0 = closes }
    armed.withLock { $0 = true }
  }

  var count: Int { cuts.withLock { $0 } }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    try? FileManager.default.removeItem(atPath: folder)
  }

  private func accepts() -> Bool {
    let client = accept(listener, nil, nil)
    guard client >= 0 else { return false }
    if isClosed.withLock({ $0 }) {
      close(client)
      return true
    }
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
      close(client)
      return true
    }
    Thread { [self] in pump(from: client, to: server, isAnswer: false) }.start()
    Thread { [self] in pump(from: server, to: client, isAnswer: true) }.start()
    return true
  }

  private func pump(from source: Int32, to target: Int32, isAnswer: Bool) {
    defer { for one in [source, target] { shutdown(one, Int32(SHUT_RDWR)) } }
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(source, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      if isAnswer, hides(buffer[..<count]) { return }
      var sent = 0
      while sent < count {
        let part = buffer.withUnsafeBytes { send(target, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL)) }
        guard part > 0 else { return }
        sent += part
      }
    }
  }

  /// The tag of the message CommandComplete.
  private static let tag = Array("COMMIT\0".utf8)

  private func hides(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard armed.withLock({ $0 }), bytes.indices.contains(where: { bytes[$0...].starts(with: Self.tag) }) else {
      return false
    }
    armed.withLock { $0 = false }
    let closes = closesAfterwards.withLock { $0 }
    isClosed.withLock { $0 = closes }
    cuts.withLock { $0 += 1 }
    return true
  }

  private static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
