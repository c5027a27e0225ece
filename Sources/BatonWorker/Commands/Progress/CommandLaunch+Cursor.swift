import BatonBase
import BatonHandler
import BatonModel
import BatonProcess
import Synchronization

extension CommandLaunch {
  /// Runs the command once for all remaining work. Its exit with status 0 ends the request.
  func runWithCursor() async throws {
    let channel = try ProgressChannel()
    let pump = ProgressPump(channel, of: runner.definition.kind, runtime: runtime, redaction: secrets.redaction)
    let problem = Mutex<(any Error)?>(nil)
    let run: Result<Void, any Error>
    do {
      try await execute(channel.invocation(of: command)) { process in
        do {
          try await pump.run()
        } catch {
          problem.withLock { $0 = error }
          process.signal(SIGKILL)
        }
      }
      run = .success(())
    } catch {
      run = .failure(error)
    }
    if let problem = problem.withLock({ $0 }) { throw problem }
    // Lines that the command wrote before it ended are committed, however it ended.
    try await pump.drain(isWhole: (try? run.get()) != nil)
    try run.get()
    try await commitEnd(afterLines: pump.committedLines)
  }

  /// Commits the end of the request. A command that reported no counts has done one unit of one. What it did after its
  /// last line is not a batch of its own.
  private func commitEnd(afterLines lines: Int) async throws {
    let last = runtime.progress
    let counted = last.completedUnits > 0 || last.totalUnits != nil
    try await runtime.commitLast(
      Commit(
        cursor: last.cursor, completedUnits: counted ? last.completedUnits : 1,
        totalUnits: counted ? last.totalUnits : 1, reachesEnd: true,
        isEndOnly: lines > 0))
  }
}
