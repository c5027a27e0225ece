import BatonBase

/// The connection between a supervisor and its worker: a pair of sockets. The worker gets one end as its standard
/// input.
///
/// When the supervisor dies, for any reason, the worker reads an end of file. In the other direction the worker writes
/// the lines that the supervisor passes on if the worker dies.
struct ControlSocket: Sendable {
  /// The supervisor's end. It is closed when the last copy of this value is gone.
  private let own: OpenFile
  /// The worker's end. The code that starts the worker must close it.
  let workerEnd: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let type = Int32(SOCK_STREAM.rawValue)
    #else
      let type = Int32(SOCK_STREAM)
    #endif
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemCall.failure("cannot make", "a pair of sockets") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    own = OpenFile(ends[0])
    workerEnd = ends[1]
  }

  private static let withoutWaiting = Int32(MSG_DONTWAIT)

  /// The last complete line that the worker wrote. Call this once, after the worker has died. It reads at most 64 KiB.
  func lastLine() -> String? {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    var count = 0
    while count < bytes.count {
      let read = bytes.withUnsafeMutableBytes {
        recv(own.descriptor, $0.baseAddress! + count, $0.count - count, Self.withoutWaiting)
      }
      if read <= 0 { break }
      count += read
    }
    guard let end = bytes[..<count].lastIndex(of: UInt8(ascii: "\n")) else { return nil }
    return bytes[..<end].split(separator: UInt8(ascii: "\n")).last.map { String(decoding: $0, as: UTF8.self) }
  }
}
