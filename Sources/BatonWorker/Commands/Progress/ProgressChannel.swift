import BatonModel
import CBatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The two pipes of a command with a cursor of its own: lines come up, acknowledgements go down.
///
/// The worker holds both ends of both open, so that nobody ever waits for the other to open or gets an end of file,
/// and it never waits in a read or a write. A line is read only when the one before is durable: a command that writes
/// faster is held up by the pipe (64 KiB).
final class ProgressChannel: Sendable {
  /// Numbers of the command's descriptors, in `BATON_PROGRESS_FD` and `BATON_COMMIT_FD`.
  static let (progressDescriptor, commitDescriptor) = (3, 4)

  private let up: HalfBlockingPipe
  private let down: HalfBlockingPipe

  var progress: Int32 { up.reading.descriptor }

  init() throws {
    up = try HalfBlockingPipe(own: .reading)
    down = try HalfBlockingPipe(own: .writing)
  }

  /// The command behind a shell that moves the pipes to the descriptors 3 and 4 and then becomes the command: a process
  /// inherits its first three descriptors and no others here. The pipes have no path, so that no other process can open
  /// them.
  func invocation(of executable: String, command: [String]) -> Invocation {
    let script = #"exec 3>&2 2>&1 4<&0 0</dev/null; exec "$@""#
    return Invocation(
      executable: "/bin/sh", arguments: ["sh", "-c", script, "sh", executable] + command.dropFirst(),
      environment: [
        "BATON_PROGRESS_FD": String(Self.progressDescriptor), "BATON_COMMIT_FD": String(Self.commitDescriptor),
      ],
      streams: InheritedStreams(input: down.reading, error: up.writing))
  }

  /// What is there now, nil if nothing is.
  func read() -> [UInt8]? {
    SystemCall.read(progress, limit: 64 << 10).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// False if the pipe is full, because the command does not read it.
  func acknowledge(_ lines: Int) -> Bool {
    let message = Array("{\"committed\": \(lines)}\n".utf8)
    // At most PIPE_BUF bytes are written whole or not at all (pipe(7)).
    return message.withUnsafeBytes { write(down.writing.descriptor, $0.baseAddress, $0.count) } == message.count
  }

  /// Returns when there is something to read, or room for an acknowledgement if one waits.
  func wait(forRoom: Bool) async {
    await Readiness.wait(reading: progress, writing: forRoom ? down.writing.descriptor : nil)
  }
}

/// A pipe whose one end is this process's, which never waits in it, and whose other end a command inherits, which may:
/// few programs know what to do with a pipe that says "try again". This process holds both ends open.
private struct HalfBlockingPipe {
  enum End { case reading, writing }

  let reading: OpenFile
  let writing: OpenFile

  init(own: End) throws {
    var ends: (Int32, Int32) = (0, 0)
    guard baton_pipe(&ends.0, &ends.1) == 0 else { throw SystemCall.failure("cannot make", "a pipe") }
    (reading, writing) = (OpenFile(ends.0), OpenFile(ends.1))
    let theirs = own == .reading ? writing : reading
    _ = fcntl(theirs.descriptor, F_SETFL, fcntl(theirs.descriptor, F_GETFL) & ~O_NONBLOCK)
  }
}
