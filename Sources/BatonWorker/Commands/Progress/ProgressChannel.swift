import BatonBase
import BatonModel
import BatonProcess

/// The two pipes of a command that keeps its own cursor: one carries its lines to the worker, the other the worker's
/// acknowledgements to the command.
///
/// The worker holds both ends of both pipes open. Neither side therefore waits for the other to open a pipe or gets an
/// end of file, and the worker never waits in a read or a write. The worker commits lines one after another and stops
/// reading while a commit is not durable, so a command that writes faster is held up by the pipe (64 KiB).
final class ProgressChannel: Sendable {
  /// The command's descriptor numbers, which are in `BATON_PROGRESS_FD` and `BATON_COMMIT_FD`.
  static let (progressDescriptor, commitDescriptor): (Int32, Int32) = (3, 4)

  private let up: CommandPipe
  private let down: CommandPipe

  var progress: Int32 { up.reading.descriptor }

  init() throws {
    up = try CommandPipe(own: .reading)
    down = try CommandPipe(own: .writing)
  }

  /// How the command is started. The pipes have no path, so that no other process can open them.
  func invocation(of command: [String]) -> Invocation {
    Invocation(
      arguments: command,
      environment: [
        "BATON_PROGRESS_FD": String(Self.progressDescriptor), "BATON_COMMIT_FD": String(Self.commitDescriptor),
      ],
      passed: [
        PassedDescriptor(up.writing, as: Self.progressDescriptor),
        PassedDescriptor(down.reading, as: Self.commitDescriptor),
      ])
  }

  /// The bytes that wait in the pipe; `nil` if there are none.
  func read() -> [UInt8]? {
    up.read().flatMap { $0.isEmpty ? nil : $0 }
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
