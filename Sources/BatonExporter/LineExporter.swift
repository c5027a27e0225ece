internal import BatonModel
package import BatonTelemetry
internal import Dispatch
package import Logging
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Writes each request as one line of OTLP JSON, to a file or to standard output.
/// Source: https://opentelemetry.io/docs/specs/otel/protocol/file-exporter.
package struct LineExporter: OTLPSending {
  package enum Place: Hashable, Sendable {
    /// Standard output: the data of a daemon goes there, its log to standard error.
    case console
    /// Appended to; made if there is none, readable by its owner and group. Opened for each line, so that a file which
    /// was moved away is not written to any more.
    case file(String)
  }

  private let place: Place
  private let timeout: Duration
  private let clock: TelemetryClock
  private let log: ExporterLog
  /// A reader of standard output that stops reading must not hold up a thread that others need.
  private let queue = DispatchQueue(label: "baton.telemetry.lines")
  private let lines = Lines()

  /// - Parameter timeout: how long one line may take.
  package init(
    _ what: String, to place: Place, timeout: Duration = .seconds(10), clock: TelemetryClock = .system, logger: Logger
  ) {
    (self.place, self.timeout, self.clock) = (place, timeout, clock)
    let name = if case .file(let path) = place { path } else { "the console" }
    log = ExporterLog(what, to: name, clock: clock, logger: logger)
  }

  /// `unreachable` if it could not be written in time. A line that is written later all the same comes a second time.
  package func send(_ request: some OTLPRequest) async -> ExportVerdict {
    let outcome = await outcome(of: Array((request.json + "\n").utf8))
    let verdict = outcome == .written ? ExportVerdict.delivered : .unreachable
    log.note(verdict, reason: outcome.description)
    return verdict
  }

  private enum Outcome: Equatable, CustomStringConvertible {
    case written
    /// `errno`.
    case failed(Int32)
    case late

    var description: String {
      switch self {
      case .written: ""
      case .failed(let error): String(cString: strerror(error))
      case .late: "nobody reads what is written there"
      }
    }
  }

  /// Waits no longer than the timeout, or until the task is cancelled.
  private func outcome(of line: [UInt8]) async -> Outcome {
    guard let number = lines.begin() else { return .late }
    let (outcomes, outcome) = AsyncStream<Outcome>.makeStream()
    queue.async { [place, lines] in
      let error = Self.write(line, to: place)
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

/// The lines that are being written, and those among them that nobody waits for any more: while there is one, whoever
/// reads is gone or stands still, and no more are begun.
private final class Lines: Sendable {
  private struct State {
    var last = 0
    var open: Set<Int> = []
    var left: Set<Int> = []
  }

  private let state = Mutex(State())

  func begin() -> Int? {
    state.withLock { state in
      guard state.left.isEmpty else { return nil }
      state.last += 1
      state.open.insert(state.last)
      return state.last
    }
  }

  func end(_ number: Int) {
    state.withLock { state in
      state.open.remove(number)
      state.left.remove(number)
    }
  }

  func leave(_ number: Int) { state.withLock { if $0.open.contains(number) { $0.left.insert(number) } } }
}

// Its own threads' part. Failures are numbers of `errno`.
extension LineExporter {
  private static func write(_ line: [UInt8], to place: Place) -> Int32? {
    switch place {
    case .console: return write(line, to: STDOUT_FILENO)
    case .file(let path):
      let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
      guard file >= 0 else { return errno }
      defer { close(file) }
      return write(line, to: file)
    }
  }

  private static func write(_ line: [UInt8], to file: Int32) -> Int32? {
    var rest = line[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { writeOnce(file, $0.baseAddress, $0.count) }
      if written >= 0 { rest = rest.dropFirst(written) } else if errno != EINTR { return errno }
    }
    return nil
  }
}

/// Outside the type, where `write` is the system's.
private func writeOnce(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
