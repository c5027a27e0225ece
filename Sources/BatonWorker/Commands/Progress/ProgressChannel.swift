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

  private let up: NamedPipe
  private let down: NamedPipe

  var progress: Int32 { up.reading.descriptor }

  init(_ folder: LaunchFolder) throws {
    up = try NamedPipe(folder.progressPipe)
    down = try NamedPipe(folder.commitPipe)
  }

  /// The command behind a shell that opens the pipes as descriptors 3 and 4 and then becomes the command: whoever
  /// starts a process here closes every descriptor but the first three.
  func invocation(of executable: String, command: [String]) -> Invocation {
    let script = #"exec 3>"$1" 4<"$2"; shift 2; exec "$@""#
    return Invocation(
      executable: "/bin/sh",
      arguments: ["sh", "-c", script, "sh", up.pathForWriting, down.pathForReading, executable]
        + command.dropFirst(),
      environment: [
        "BATON_PROGRESS_FD": String(Self.progressDescriptor), "BATON_COMMIT_FD": String(Self.commitDescriptor),
      ])
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

/// A pipe that another process can open by a path while this one holds both ends. This one never waits in it.
private struct NamedPipe {
  let reading: OpenFile
  let writing: OpenFile
  let pathForReading: String
  let pathForWriting: String

  /// - Parameter path: of the pipe, on a system whose descriptors have no paths.
  init(_ path: String) throws {
    #if os(Linux)
      // A pipe that nobody has to make and remove in a folder: proc_pid_fd(5) gives its ends paths.
      var ends: (Int32, Int32) = (0, 0)
      guard baton_pipe(&ends.0, &ends.1) == 0 else { throw SystemCall.failure("cannot make the pipe", path) }
      (reading, writing) = (OpenFile(ends.0), OpenFile(ends.1))
      (pathForReading, pathForWriting) = ("/proc/\(getpid())/fd/\(ends.0)", "/proc/\(getpid())/fd/\(ends.1)")
    #else
      guard mkfifo(path, 0o600) == 0 else { throw SystemCall.failure("cannot make the pipe", path) }
      reading = OpenFile(try SystemCall.open(path, O_RDWR | O_NONBLOCK))
      (writing, pathForReading, pathForWriting) = (reading, path, path)
    #endif
  }
}
