package import BatonModel
package import Logging
internal import Synchronization

/// Sends a snapshot by OTLP every 60 s. What a backend did not take is not sent again: the next snapshot, an interval
/// later, has it too, because everything counts since the start.
package final class MetricsExport: Sendable {
  /// Sends an `ExportMetricsServiceRequest`, in one attempt that is over within the interval.
  package typealias Send = @Sendable (_ request: MetricsRequest) async -> ExportVerdict

  private let interval: Duration
  private let resource: Resource
  private let reader: MetricsReader
  private let send: Send
  private let now: @Sendable () -> Instant
  private let sleep: @Sendable (Duration) async throws -> Void
  private let logger: Logger
  /// What the backend said last, nil since it took everything.
  private let complaint = Mutex<String?>(nil)
  private let wanted = Signal()

  package init(
    interval: Duration = MetricSettings().interval, resource: Resource, reader: MetricsReader, logger: Logger,
    now: @escaping @Sendable () -> Instant, sleep: @escaping @Sendable (Duration) async throws -> Void,
    send: @escaping Send
  ) {
    (self.interval, self.resource, self.reader, self.logger) = (interval, resource, reader, logger)
    (self.now, self.sleep, self.send) = (now, sleep, send)
  }

  /// Exports after each interval, and on a flush, until the task is cancelled. An export that takes longer delays the
  /// next one; they never overlap.
  package func run() async {
    var began = now()
    while (try? await rest(since: began)) != nil, !Task.isCancelled {
      began = now()
      await export()
    }
  }

  private func rest(since began: Instant) async throws {
    let rest = max(.zero, interval - (now() - began))
    try await wanted.wait { [sleep] in try await sleep(rest) }
  }

  /// `run` exports as soon as it can; does not wait for it.
  package func flush() { wanted.raise() }

  /// Exports now: what a process does last before it ends.
  package func export() async {
    let request = MetricsRequest(resource: resource, snapshot: await reader.snapshot())
    note(await send(request))
  }

  /// Says what is wrong once, until the backend took something, and then that it did. At debug: the exporter, which knows
  /// the address, warns of the same.
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
    case .retry: "the backend cannot be reached, or asked to come again later"
    case .tooLarge(let reason), .rejected(let reason): reason
    }
  }
}
