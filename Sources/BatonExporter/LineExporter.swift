package import BatonBase
internal import BatonModel
package import BatonTelemetry
internal import Dispatch
package import Logging
internal import Synchronization

/// Writes each request as one line of OTLP JSON to a file or to standard output. Source:
/// https://opentelemetry.io/docs/specs/otel/protocol/file-exporter.
package struct LineExporter: OTLPSending {
  package enum Place: Hashable, Sendable {
    /// Standard output. A daemon's log goes to standard error, so the two do not mix.
    case console
    /// The end of a file. The file is created with mode 0640 if it does not exist. It is opened for each line, so that
    /// after a rotation the lines go to the new file.
    case file(String)
  }

  private let place: Place
  private let timeout: Duration
  private let clock: Clocks
  private let log: ExporterLog
  private let writing: Writing
  /// Lines are written on a queue of their own: writing to a pipe whose reader has stopped reading blocks the thread.
  private let queue = DispatchQueue(label: "baton.telemetry.lines")
  private let lines = Lines()

  /// Writes bytes to a descriptor as the system's `write` does, and returns how many were written.
  typealias Writing = @Sendable (Int32, UnsafeRawBufferPointer) -> Int

  /// - Parameter timeout: the longest time that writing one line may take.
  package init(
    _ what: String, to place: Place, timeout: Duration = .seconds(10), clock: Clocks = .system, logger: Logger
  ) {
    self.init(what, to: place, timeout: timeout, clock: clock, logger: logger) {
      writeOnce($0, $1.baseAddress, $1.count)
    }
  }

  /// - Parameter writing: replaces the system's `write` in tests.
  init(
    _ what: String, to place: Place, timeout: Duration = .seconds(10), clock: Clocks = .system, logger: Logger,
    writing: @escaping Writing
  ) {
    (self.place, self.timeout, self.clock, self.writing) = (place, timeout, clock, writing)
    let name = if case .file(let path) = place { path } else { "the console" }
    log = ExporterLog(what, to: name, clock: clock, logger: logger)
  }

  /// Writes the request as one line. Returns `.unreachable` if the line could not be written in time. If the line is
  /// written later after all, the retry writes it a second time.
  package func send(_ request: some OTLPRequest) async -> ExportVerdict {
    let outcome = await outcome(of: Array((request.json + "\n").utf8))
    let verdict = outcome == .written ? ExportVerdict.delivered : .unreachable
    log.note(verdict, reason: outcome.description)
    return verdict
  }

  private enum Outcome: Equatable, CustomStringConvertible {
    case written
    /// Writing failed with this `errno`.
    case failed(Int32)
    case late

    var description: String {
      switch self {
      case .written: ""
      case .failed(let error): String(cString: strerror(error))
      case .late: "the line could not be written in time: the reader may have stopped reading"
      }
    }
  }

  /// Writes a line and waits until it is written, but not longer than the timeout, and only until the task is
  /// cancelled.
  private func outcome(of line: [UInt8]) async -> Outcome {
    guard let number = lines.begin() else { return .late }
    let (outcomes, outcome) = AsyncStream<Outcome>.makeStream()
    queue.async { [place, lines, writing] in
      let error = Self.write(line, to: place, writing)
      lines.end(number)
      outcome.yield(error.map { .failed($0) } ?? .written)
      outcome.finish()
    }
    let first = await withTaskGroup(of: Outcome.self) { group in
      group.addTask { await outcomes.first { _ in true } ?? .late }
      group.addTask {
        try? await clock.sleep(timeout)
        return .late
      }
      defer { group.cancelAll() }
      return await group.next() ?? .late
    }
    if first == .late { lines.leave(number) }
    return first
  }
}

/// Counts the lines that are being written, and notes the lines that took too long (`left`). While there is a line that
/// took too long, its reader is gone or has stopped reading, and `begin` starts no further line.
private final class Lines: Sendable {
  private struct State {
    var last = 0
    var open: Set<Int> = []
    var left: Set<Int> = []
  }

  private let state = Mutex(State())

  /// Registers a new line and returns its number; `nil` while a line that took too long is still being written.
  func begin() -> Int? {
    state.withLock { state in
      guard state.left.isEmpty else { return nil }
      state.last += 1
      state.open.insert(state.last)
      return state.last
    }
  }

  /// A line was written, or writing it failed.
  func end(_ number: Int) {
    state.withLock { state in
      state.open.remove(number)
      state.left.remove(number)
    }
  }

  /// Notes that a line took too long, if it is still being written.
  func leave(_ number: Int) { state.withLock { if $0.open.contains(number) { $0.left.insert(number) } } }
}

// The part that runs on the dispatch queue. Failures are values of `errno`; `nil` means success.
extension LineExporter {
  private static func write(_ line: [UInt8], to place: Place, _ writing: Writing) -> Int32? {
    var rest = line[...]
    switch place {
    case .console: return write(&rest, to: STDOUT_FILENO, writing)
    case .file(let path):
      let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
      guard file >= 0 else { return errno }
      defer { close(file) }
      let start = size(of: file)
      guard let error = write(&rest, to: file, writing) else { return nil }
      removePart(of: line, written: line.count - rest.count, from: start, in: file)
      return error
    }
  }

  /// - Parameter rest: the bytes to write; afterwards the bytes that were not written.
  private static func write(_ rest: inout ArraySlice<UInt8>, to file: Int32, _ writing: Writing) -> Int32? {
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { writing(file, $0) }
      if written >= 0 { rest = rest.dropFirst(written) } else if errno != EINTR { return errno }
    }
    return nil
  }

  /// Cuts an incomplete line off the end of the file, for example after the disk has become full. Otherwise the next
  /// line would be appended to it, and both would be no JSON. Nothing is cut if another process has appended since.
  private static func removePart(of line: [UInt8], written: Int, from start: off_t?, in file: Int32) {
    guard written > 0, let start, size(of: file) == start + off_t(written) else { return }
    _ = ftruncate(file, start)
  }

  /// The size of a file; `nil` for a pipe or device.
  private static func size(of file: Int32) -> off_t? {
    let end = lseek(file, 0, SEEK_END)
    return end >= 0 ? end : nil
  }
}

/// Calls the system's `write`. It is outside the type because `write` means the type's own function there.
private func writeOnce(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
