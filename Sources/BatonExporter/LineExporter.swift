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
  /// Whether a line is still being written, though nobody waits for it any more.
  private let isStuck = Flag()

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
    guard !isStuck.value.withLock({ $0 }) else { return .late }
    let (outcomes, outcome) = AsyncStream<Outcome>.makeStream()
    isStuck.value.withLock { $0 = true }
    queue.async { [place, isStuck] in
      let error = Self.write(line, to: place)
      isStuck.value.withLock { $0 = false }
      outcome.yield(error.map { .failed($0) } ?? .written)
      outcome.finish()
    }
    return await withTaskGroup(of: Outcome.self) { group in
      group.addTask { await outcomes.first { _ in true } ?? .late }
      group.addTask {
        try? await clock.sleep(timeout)
        return .late
      }
      defer { group.cancelAll() }
      return await group.next() ?? .late
    }
  }
}

private final class Flag: Sendable {
  let value = Mutex(false)
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
