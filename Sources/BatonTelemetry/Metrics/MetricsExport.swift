import BatonBase
package import BatonModel
package import Logging
internal import Synchronization

/// Sends a snapshot of the metrics by OTLP after each interval, by default every 60 s. A snapshot that the backend did
/// not take is not sent again: the next snapshot contains the same information, because all counters count from the
/// start of the process.
package final class MetricsExport: Sendable {
  /// Sends an `ExportMetricsServiceRequest`. It makes one attempt; the exporter's timeout limits its time.
  package typealias Send = @Sendable (_ request: MetricsRequest) async -> ExportVerdict

  private let interval: Duration
  private let resource: Resource
  private let reader: MetricsReader
  private let send: Send
  private let now: @Sendable () -> Instant
  private let sleep: @Sendable (Duration) async throws -> Void
  private let logger: Logger
  /// What was wrong with the last export; `nil` if the backend took everything, and before the first export.
  private let complaint = Mutex<String?>(nil)
  private let wanted = Signal()

  /// Creates an exporter; `run` starts the exports.
  ///
  /// - Parameters:
  ///   - interval: the time from the start of one export to the start of the next.
  ///   - now: the monotonic clock that measures the interval.
  ///   - sleep: sleeps for a duration by the same clock, and throws only if the task is cancelled.
  package init(
    interval: Duration = MetricSettings().interval, resource: Resource, reader: MetricsReader, logger: Logger,
    now: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void,
    send: @escaping Send
  ) {
    (self.interval, self.resource, self.reader, self.logger) = (interval, resource, reader, logger)
    (self.now, self.sleep, self.send) = (now, sleep, send)
  }

  /// Exports after each interval and after each `flush`, until the task is cancelled. Exports never overlap; an export
  /// that takes longer than the interval delays the next one.
  package func run() async {
    var began = now()
    while (try? await rest(since: began)) != nil, !Task.isCancelled {
      began = now()
      await export()
    }
  }

  /// Waits for the rest of the interval, or for a `flush`.
  private func rest(since began: Instant) async throws {
    let rest = max(.zero, interval - (now() - began))
    try await wanted.wait { [sleep] in try await sleep(rest) }
  }

  /// Makes `run` export as soon as possible, and does not wait for the export.
  package func flush() { wanted.raise() }

  /// Exports now. A process calls this last, before it ends.
  package func export() async {
    let request = MetricsRequest(resource: resource, snapshot: await reader.snapshot())
    note(await send(request))
  }

  /// Logs when exports begin to fail, and when they work again. The level is debug because the exporter, which knows
  /// the address, logs a warning for the same failure.
  private func note(_ verdict: ExportVerdict) {
    let (new, old) = complaint.withLock { last in
      let (new, old) = (Self.complaint(about: verdict), last)
      last = new
      return (new, old)
    }
    if let new, old == nil { logger.debug("metrics are not exported: \(new)") }
    if new == nil, old != nil { logger.debug("metrics are exported again") }
  }

  private static func complaint(about verdict: ExportVerdict) -> String? {
    switch verdict {
    case .delivered, .partial(rejected: 0, message: ""): nil
    case .partial(let rejected, let message): "the backend refused \(rejected) points: \(message)"
    case .retry: "the backend cannot be reached, or asked to try again later"
    case .tooLarge(let reason), .rejected(let reason): reason
    }
  }
}
