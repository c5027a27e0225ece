import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A proxy before the socket of a PostgreSQL server. When it is armed, it changes or hides the next answer to a COMMIT.
/// It can then keep the server out of reach.
final class CuttingProxy: Sendable {
  let folder: String
  private let listener: Int32
  private let target: String
  /// What happens to an answer to a COMMIT, which the server has made.
  enum Fault: Sendable {
    /// The client's connection ends without the answer.
    case cut
    /// A warning with this SQLSTATE comes before the answer.
    case warn(String)
    /// The warning comes, and then the connection ends.
    case warnAndCut(String)
  }

  private let armed = Mutex<Fault?>(nil)
  private let cuts = Mutex(0)
  private let isClosed = Mutex(false)
  private let closesAfterwards = Mutex(false)
  private let clients = Mutex<[Int32]>([])
  /// Whether the server is not told that a client's connection has ended.
  private let isSilent = Mutex(false)

  /// - Parameter target: the path of the server's socket.
  init(_ target: String) throws {
    self.target = target
    folder = "/tmp/baton-proxy-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = UnixSocket.withAddress(folder + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
    guard bound == 0, listen(listener, 16) == 0 else { throw CocoaError(.featureUnsupported) }
    Thread { [self] in while accepts() {} }.start()
  }

  /// - Parameter closes: whether the server is out of reach from the fault on.
  func arm(_ fault: Fault = .cut, closes: Bool = false) {
    closesAfterwards.withLock { $0 = closes }
    armed.withLock { $0 = fault }
  }

  var count: Int { cuts.withLock { $0 } }
  /// How many connections clients have made.
  var connections: Int { clients.withLock { $0.count } }

  /// Ends all connections of clients. The server is not told: its sessions go on with what they do.
  func cutAll() {
    isSilent.withLock { $0 = true }
    clients.withLock { for client in $0 { shutdown(client, Int32(SHUT_RDWR)) } }
  }

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
    guard UnixSocket.withAddress(target, { connect(server, $0, $1) }) == 0 else {
      close(client)
      return true
    }
    clients.withLock { $0.append(client) }
    Thread { [self] in pump(from: client, to: server, isAnswer: false) }.start()
    Thread { [self] in pump(from: server, to: client, isAnswer: true) }.start()
    return true
  }

  private func pump(from source: Int32, to target: Int32, isAnswer: Bool) {
    defer {
      if isAnswer || !isSilent.withLock({ $0 }) { for one in [source, target] { shutdown(one, Int32(SHUT_RDWR)) } }
    }
    while let bytes = UnixSocket.read(source) {
      guard isAnswer, let position = answer(in: bytes), let fault = take() else {
        if !UnixSocket.write(bytes, to: target) { return }
        continue
      }
      switch fault {
      case .cut: return
      case .warn(let sqlState):
        UnixSocket.write(bytes[..<position] + Self.warning(sqlState) + bytes[position...], to: target)
      case .warnAndCut(let sqlState):
        UnixSocket.write(bytes[..<position] + Self.warning(sqlState), to: target)
        return
      }
    }
  }

  /// The tag of the message CommandComplete.
  private static let tag = Array("COMMIT\0".utf8)

  /// Where the message begins that answers a COMMIT: a type, four bytes of length, and the tag.
  private func answer(in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.indices.first { bytes[$0...].starts(with: Self.tag) }.map { $0 - 5 }
  }

  private func take() -> Fault? {
    let fault = armed.withLock { armed in
      defer { armed = nil }
      return armed
    }
    if fault != nil {
      let closes = closesAfterwards.withLock { $0 }
      isClosed.withLock { $0 = closes }
      cuts.withLock { $0 += 1 }
    }
    return fault
  }

  /// The message NoticeResponse.
  private static func warning(_ sqlState: String) -> [UInt8] {
    let fields = "SWARNING\0VWARNING\0C\(sqlState)\0Mthe wait for the standby was given up\0\0"
    let length = UInt32(fields.utf8.count + 4)
    return [UInt8(ascii: "N")] + withUnsafeBytes(of: length.bigEndian, Array.init) + Array(fields.utf8)
  }
}
