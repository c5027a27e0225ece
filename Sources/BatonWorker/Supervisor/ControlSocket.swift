#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The line between a supervisor and its worker, which has the other end as its standard input.
///
/// Its end of file tells the worker that the supervisor is dead, however it died. The worker writes what its
/// supervisor has to say of it if it dies.
struct ControlSocket: Sendable {
  /// The supervisor's end; closed with the last copy of this value.
  private let own: OpenFile
  /// The worker's end, to be closed by whoever starts it.
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

  /// The last whole line that the worker wrote; to be asked once, when the worker is dead. It looks at 64 KiB.
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
