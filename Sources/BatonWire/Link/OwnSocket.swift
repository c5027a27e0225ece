import BatonBase
import NIOCore

/// The Unix socket of a coordinator: `PORT.sock` in a folder that `RuntimeFolders.own` returned.
package struct OwnSocket: Sendable {
  package let path: String

  /// - Throws: `ListenError` if the path is too long for a socket, or if another coordinator of this user listens
  ///   there, which has the same port on another address.
  package init(folder: String, port: Int) throws {
    path = "\(folder)/\(port).sock"
    guard path.utf8.count <= Self.longestPath else {
      throw ListenError(
        noSocket: "\(path) has more than \(Self.longestPath) bytes; set XDG_RUNTIME_DIR to a folder with a shorter path"
      )
    }
    guard !Self.answers(path) else {
      throw ListenError(noSocket: "another coordinator answers at \(path); choose another port")
    }
  }

  /// Removes the socket file. Call it after the listener was closed. If something still answers there, it is the socket
  /// of another coordinator, and it is kept.
  package func remove() { if !Self.answers(path) { unlink(path) } }

  private static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Whether a program listens on the socket at `path`.
  private static func answers(_ path: String) -> Bool {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    let descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
