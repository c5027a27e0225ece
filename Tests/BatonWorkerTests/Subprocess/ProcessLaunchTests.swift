import BatonBase
import Foundation
import Synchronization
import Testing

@testable import BatonProcess

@Suite(.timeLimit(.minutes(10))) struct ProcessLaunchTests {
  /// The reader takes the first piece, and does not read on before the command has ended. The rest fits into the pipe.
  @Test func `output that waits in the pipe when the command ends is read to its end`() async throws {
    let fixture = try CommandFixture()
    let ended = fixture.root + "/ended"
    #expect(mkfifo(ended, 0o600) == 0)
    let launch = ProcessLaunch(
      executable: "/bin/sh", arguments: ["sh", "-c", "echo first; exec 3> '\(ended)'; head -c 50000 /dev/zero"],
      environment: ["PATH": "/bin:/usr/bin"], directory: fixture.directory)
    let size = Mutex(0)
    let outcome = try await launch.run(in: fixture.processes, folder: fixture.folders.launches + "/1-1") { piece in
      let isFirst = size.withLock { size in
        defer { size += piece.count }
        return size == 0
      }
      // The command holds the other end of the FIFO open until it ends.
      if isFirst { _ = try? FileHandle(forReadingFrom: URL(fileURLWithPath: ended)).readToEnd() }
    }
    #expect(outcome.end == .exited(0))
    #expect(size.withLock { $0 } == "first\n".utf8.count + 50_000)
  }
}
