import BatonBase
import BatonModel
import BatonProcess
import CBatonProcess

/// The two pipes of a command that keeps its own cursor: one carries its lines to the worker, the other the worker's
/// acknowledgements to the command.
///
/// The worker holds both ends of both pipes open. Neither side therefore waits for the other to open a pipe or gets an
/// end of file, and the worker never waits in a read or a write. The worker commits lines one after another and stops
/// reading while a commit is not durable, so a command that writes faster is held up by the pipe (64 KiB).
final class ProgressChannel: Sendable {
  /// The command's descriptor numbers, which are in `BATON_PROGRESS_FD` and `BATON_COMMIT_FD`.
  static let (progressDescriptor, commitDescriptor) = (3, 4)

  private let up: HalfBlockingPipe
  private let down: HalfBlockingPipe

  var progress: Int32 { up.reading.descriptor }

  init() throws {
    up = try HalfBlockingPipe(own: .reading)
    down = try HalfBlockingPipe(own: .writing)
  }

  /// Starts the command through a shell, which moves the pipes to descriptors 3 and 4 and then becomes the command.
  /// This is necessary because a process that is started here inherits only its first three descriptors. The pipes have
  /// no path, so that no other process can open them.
  func invocation(of command: [String]) -> Invocation {
    let script = #"exec 3>&2 2>&1 4<&0 0</dev/null; exec "$@""#
    return Invocation(
      shell: ["/bin/sh", "sh", "-c", script, "sh"], arguments: command,
      environment: [
        "BATON_PROGRESS_FD": String(Self.progressDescriptor), "BATON_COMMIT_FD": String(Self.commitDescriptor),
      ],
      streams: InheritedStreams(input: down.reading, error: up.writing), socket: Int32(Self.commitDescriptor))
  }

  /// The bytes that wait in the pipe; `nil` if there are none.
  func read() -> [UInt8]? {
    SystemCall.read(progress, limit: 64 << 10).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Tells the command how many of its lines are durable. Returns `false` if the pipe is full because the command does
  /// not read it.
  func acknowledge(_ lines: Int) -> Bool {
    let message = Array("{\"committed\": \(lines)}\n".utf8)
    // A message of at most PIPE_BUF bytes is written completely or not at all (pipe(7)).
    return message.withUnsafeBytes { write(down.writing.descriptor, $0.baseAddress, $0.count) } == message.count
  }

  /// Returns when there is something to read. With `forRoom` it also returns when the pipe to the command has room for
  /// an acknowledgement.
  func wait(forRoom: Bool) async {
    await Readiness.wait(reading: progress, writing: forRoom ? down.writing.descriptor : nil)
  }
}

/// A pipe with one end for this process, which never blocks in it, and the other end for a command, which may block:
/// few programs can handle a pipe that returns EAGAIN. This process keeps both ends open.
private struct HalfBlockingPipe {
  enum End { case reading, writing }

  let reading: OpenFile
  let writing: OpenFile

  /// - Parameter own: the end that this process uses. It is the non-blocking one.
  init(own: End) throws {
    var ends: (Int32, Int32) = (0, 0)
    guard baton_pipe(&ends.0, &ends.1) == 0 else { throw SystemCall.failure("cannot make", "a pipe") }
    (reading, writing) = (OpenFile(ends.0), OpenFile(ends.1))
    let theirs = own == .reading ? writing : reading
    _ = fcntl(theirs.descriptor, F_SETFL, fcntl(theirs.descriptor, F_GETFL) & ~O_NONBLOCK)
  }
}
