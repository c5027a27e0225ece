import BatonWire
import Foundation
import Testing

/// The place of a coordinator's Unix socket, where another coordinator of the same user may be or have been.
@Suite struct OwnSocketTests {
  /// Listens at a path until it is closed.
  private struct Listener {
    let descriptor: Int32

    init(_ path: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let result = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(result == 0 && listen(descriptor, 8) == 0)
    }

    func end() { close(descriptor) }
  }

  @Test func `a socket at which another coordinator answers is neither taken nor removed; one of the dead is`() throws {
    let folder = "/tmp/baton-own-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/7.sock"
    let own = try OwnSocket(folder: folder, port: 7)
    #expect(own.path == path)
    let other = try Listener(path)
    let taken = #expect(throws: ListenError.self) { try OwnSocket(folder: folder, port: 7) }
    #expect(taken?.description.contains("another coordinator answers at \(path)") == true)
    own.remove()
    #expect(FileManager.default.fileExists(atPath: path), "it was another coordinator's")
    other.end()
    _ = try OwnSocket(folder: folder, port: 7)
    own.remove()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a path that is too long for a socket is none`() {
    let folder = "/tmp/" + String(repeating: "x", count: 120)
    let error = #expect(throws: ListenError.self) { try OwnSocket(folder: folder, port: 7) }
    #expect(error?.description.contains("XDG_RUNTIME_DIR") == true)
  }
}
