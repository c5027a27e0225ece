import BatonBase
import Foundation
import Synchronization
import Testing

@testable import BatonProcess

@Suite(.timeLimit(.minutes(10))) struct ProcessLaunchTests {
  /// The thread that reads output also learns of ends. The test keeps this thread until the command has ended, until a
  /// function of the test is the next one to be called, and until more output waits behind that function. So the end is
  /// told while nothing reads.
  @Test(.enabled(if: isLinux, "this order of the events is that of epoll"))
  func `output that waits in the pipe when the command ends is read to its end`() async throws {
    let fixture = try CommandFixture()
    let (ends, writes, written) = (fixture.root + "/ends", fixture.root + "/writes", fixture.root + "/written")
    for path in [ends, writes, written] { #expect(mkfifo(path, 0o600) == 0) }
    let command = """
      echo first
      (read line < '\(writes)'; head -c 50000 /dev/zero; echo > '\(written)') &
      read line < '\(ends)'
      """
    let launch = ProcessLaunch(
      executable: "/bin/sh", arguments: ["sh", "-c", command], environment: ["PATH": "/bin:/usr/bin"],
      directory: fixture.directory)
    let size = Mutex(0)
    let (hasFirst, before, after) = (Gate(), ReaderStop(), ReaderStop())
    let outcome = try await launch.run(
      in: fixture.processes, folder: fixture.folders.launches + "/1-1",
      during: { process in
        hasFirst.wait()
        before.begin()
        before.isReached.wait()
        Self.write(to: ends)
        var information = siginfo_t()
        _ = waitid(P_PID, id_t(process.pid), &information, WEXITED | WNOWAIT)
        after.begin()
        Self.write(to: writes)
        _ = try? FileHandle(forReadingFrom: URL(fileURLWithPath: written)).readToEnd()
        before.ends.open()
      },
      output: { piece in
        size.withLock { $0 += piece.count }
        hasFirst.open()
      })
    after.ends.open()
    #expect(outcome.end == .exited(0))
    #expect(size.withLock { $0 } == "first\n".utf8.count + 50_000)
  }

  private static var isLinux: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  /// Writes a line to a FIFO, as soon as it is read.
  private static func write(to fifo: String) {
    let file = FileHandle(forWritingAtPath: fifo)
    try? file?.write(contentsOf: Data("\n".utf8))
    try? file?.close()
  }

  /// Is passed from when it was opened.
  private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func open() { semaphore.signal() }
    func wait() {
      semaphore.wait()
      semaphore.signal()
    }
  }

  /// Stops the thread that reads output.
  private final class ReaderStop: Sendable {
    let (isReached, ends) = (Gate(), Gate())
    private let pipe = Pipe()
    private let watch = Mutex<DescriptorWatch?>(nil)

    /// Lets the thread come to this stop after what it has to do now.
    func begin() {
      try? pipe.fileHandleForWriting.write(contentsOf: Data([0]))
      let made = DescriptorWatch(pipe.fileHandleForReading.fileDescriptor) { [isReached, ends] in
        isReached.open()
        ends.wait()
        return false
      }
      watch.withLock { $0 = made }
    }

    deinit { watch.withLock { $0?.end() } }
  }
}
