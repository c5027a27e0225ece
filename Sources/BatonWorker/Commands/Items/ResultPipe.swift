import BatonBase
import BatonModel
import BatonProcess
import Synchronization

/// The pipe on which the command of one batch gives a result. Its lines are those of a command with its own cursor,
/// with the keys `result` and `subtitle` only: the worker keeps the position in the items itself.
///
/// The lines are read while the command runs, so that the command never waits for room in the pipe.
final class ResultPipe: Sendable {
  private let pipe: CommandPipe
  private let launch: CommandLaunch
  private let state = Mutex(State())

  private struct State {
    var lines = LineBuffer(limit: ProgressLine.maximumBytes)
    var count = 0
    var said = Said()
    var problem: (any Error)?
  }

  /// What the command of a batch has said.
  struct Said {
    var result: JobResult?
    var subtitle: String?
    var found: RefreshResult?
  }

  init(of launch: CommandLaunch) throws {
    pipe = try CommandPipe(own: .reading)
    self.launch = launch
  }

  /// Runs the command once.
  /// - Throws: what `CommandLaunch.execute` throws, or why a line cannot be used.
  func execute(_ invocation: Invocation) async throws -> Said {
    var invocation = invocation
    invocation.environment["BATON_PROGRESS_FD"] = String(ProgressChannel.progressDescriptor)
    invocation.passed.append(PassedDescriptor(pipe.writing, as: ProgressChannel.progressDescriptor))
    do {
      try await launch.execute(invocation) { process in
        await self.readLines()
        if self.state.withLock({ $0.problem != nil }) { process.signal(SIGKILL) }
      }
    } catch {
      // The command was killed because of it.
      if let problem = state.withLock({ $0.problem }) { throw problem }
      throw error
    }
    return try drain()
  }

  /// Reads until the task is cancelled, or until a line cannot be used.
  private func readLines() async {
    while !Task.isCancelled, state.withLock({ $0.problem == nil }) {
      if let chunk = pipe.read(), !chunk.isEmpty {
        take(chunk)
      } else {
        await Readiness.wait(reading: pipe.reading.descriptor, writing: nil)
      }
    }
  }

  /// How much is read after the command has ended, in bytes: twice the capacity of a pipe on Linux. A process that has
  /// inherited the pipe may still write to it.
  private static let drainLimit = 128 << 10

  private func drain() throws -> Said {
    var drained = 0
    while drained < Self.drainLimit, let chunk = pipe.read(), !chunk.isEmpty {
      drained += chunk.count
      take(chunk)
    }
    return try state.withLock { state in
      if state.problem == nil, let rest = state.lines.takeRest() { read(rest, &state) }
      if let problem = state.problem { throw problem }
      return state.said
    }
  }

  private func take(_ chunk: [UInt8]) {
    state.withLock { state in
      if !state.lines.append(chunk) {
        let what = "is longer than \(ProgressLine.maximumBytes) bytes"
        state.problem = ProgressLine.problem(launch.secrets.redaction.redacted(chunk), state.count + 1, what)
      }
      while state.problem == nil, let line = state.lines.next() { read(line, &state) }
    }
  }

  private func read(_ bytes: [UInt8], _ state: inout State) {
    state.count += 1
    let redaction = launch.secrets.redaction
    do {
      let line = try ProgressLine(
        bytes, number: state.count, of: launch.runner.definition.kind, redaction: redaction)
      guard line.checkpoint == nil, line.completed == nil, line.total == nil, line.transfers.isEmpty else {
        throw ProgressLine.problem(
          redaction.redacted(bytes), state.count,
          "has other keys than 'result' and 'subtitle', but the job has 'items', whose position Baton keeps itself")
      }
      state.said.result = line.result ?? state.said.result
      state.said.subtitle = line.subtitle ?? state.said.subtitle
      state.said.found = line.found ?? state.said.found
    } catch {
      state.problem = error
    }
  }
}
