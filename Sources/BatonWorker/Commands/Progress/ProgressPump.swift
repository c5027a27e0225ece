import BatonHandler
import BatonModel
import Synchronization

/// Commits the lines that a command reports, one by one, and acknowledges them to the command.
final class ProgressPump: Sendable {
  private let channel: ProgressChannel
  private let runtime: any CommandRuntime
  private let kind: JobKind
  private let redaction: Redaction
  private let state = Mutex(State())

  private struct State {
    var lines = LineBuffer(limit: ProgressLine.maximumBytes)
    /// The number of lines of this command that are durable.
    var committed = 0
    var acknowledged = 0
  }

  /// - Parameters:
  ///   - kind: of the definition.
  ///   - redaction: removes secrets from the lines. A line whose checkpoint or result has one is refused, because these
  ///     are stored, and have to come back as they are.
  init(_ channel: ProgressChannel, of kind: JobKind, runtime: any CommandRuntime, redaction: Redaction = .none) {
    self.channel = channel
    self.kind = kind
    self.runtime = runtime
    self.redaction = redaction
  }

  var committedLines: Int { state.withLock { $0.committed } }

  /// Commits lines as they arrive, until the task is cancelled.
  func run() async throws {
    while !Task.isCancelled {
      try await commitLines()
      acknowledge()
      if Task.isCancelled { return }
      if let chunk = channel.read() { try append(chunk) } else { await channel.wait(forRoom: hasUnacknowledged) }
    }
  }

  /// Twice the capacity of a pipe on Linux, in bytes.
  private static let drainLimit = 128 << 10

  /// Commits the lines that the command wrote before it ended. A process that has inherited the pipe may still write to
  /// it, so that at most `drainLimit` bytes are read.
  /// - Parameter isWhole: whether the command succeeded. Its last line then counts even without a line feed, and is an
  ///   error if it is incomplete.
  func drain(isWhole: Bool) async throws {
    var drained = 0
    try await commitLines()
    while drained < Self.drainLimit, let chunk = channel.read() {
      drained += chunk.count
      try append(chunk)
      try await commitLines()
    }
    guard isWhole, drained < Self.drainLimit, let rest = state.withLock({ $0.lines.takeRest() }) else { return }
    try await commit(rest)
  }

  private func append(_ chunk: [UInt8]) throws {
    let (fits, number) = state.withLock { ($0.lines.append(chunk), $0.committed + 1) }
    if !fits {
      throw ProgressLine.problem(
        redaction.redacted(chunk), number,
        "is longer than \(ProgressLine.maximumBytes) bytes; a checkpoint has at most 1 MiB: keep data in files, and "
          + "only the position in the checkpoint. The line ends with")
    }
  }

  private func commitLines() async throws {
    while let line = state.withLock({ $0.lines.next() }) {
      try await commit(line)
      acknowledge()
    }
  }

  private func commit(_ bytes: [UInt8]) async throws {
    let number = state.withLock { $0.committed } + 1
    let line = try ProgressLine(bytes, number: number, of: kind, redaction: redaction)
    let last = runtime.progress
    var commit = Commit(
      cursor: line.checkpoint ?? last.cursor, completedUnits: line.completed ?? last.completedUnits,
      totalUnits: line.total ?? last.totalUnits, subtitle: line.subtitle)
    (commit.transfers, commit.result) = (line.transfers, line.result)
    do {
      try await runtime.commit(commit)
    } catch let error as HandlerError where error.code == .checkpointRefused {
      throw ProgressLine.problem(redaction.redacted(bytes), number, "was refused (\(error.message))")
    }
    if let found = line.found { runtime.conclude(found) }
    state.withLock { $0.committed = number }
  }

  private var hasUnacknowledged: Bool { state.withLock { $0.acknowledged < $0.committed } }

  /// The acknowledgement has the number of all durable lines, so an acknowledgement that did not fit into the pipe is
  /// made up for by the next one.
  private func acknowledge() {
    state.withLock { state in
      if state.acknowledged < state.committed, channel.acknowledge(state.committed) {
        state.acknowledged = state.committed
      }
    }
  }
}
