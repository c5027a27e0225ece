internal import BatonModel
internal import BatonTelemetry
internal import Logging
internal import Synchronization

/// Writes into the log what an `ExporterHealth` finds worth it.
final class ExporterLog: Sendable {
  private let health = Mutex(ExporterHealth())
  private let what: String
  private let place: String
  private let clock: TelemetryClock
  private let logger: Logger

  /// - Parameters:
  ///   - what: `traces` or `metrics`.
  ///   - place: where they go, without secrets.
  init(_ what: String, to place: String, clock: TelemetryClock, logger: Logger) {
    (self.what, self.place, self.clock, self.logger) = (what, place, clock, logger)
  }

  /// What happens to a task that is cancelled says nothing of the exporter.
  func note(_ verdict: ExportVerdict, reason: String = "") {
    guard !Task.isCancelled else { return }
    let now = clock.now()
    for report in health.withLock({ $0.note(verdict, reason: reason, at: now) }) { write(report) }
  }

  private func write(_ report: ExporterHealth.Report) {
    switch report {
    case .down(let reason): logger.warning("Exporting \(what) to \(place) fails: \(reason)")
    case .back(let after): logger.notice("Exporting \(what) to \(place) works again, after \(after.inWords)")
    case .refused(let reason, let more):
      logger.warning("\(place) refused \(what): \(reason)\(Self.before(more))\(advice)")
    case .partial(0, let message, let more): logger.warning("\(place) on \(what): \(message)\(Self.before(more))")
    case .partial(let rejected, let message, let more):
      logger.warning("\(place) did not take \(rejected) of the \(what): \(message)\(Self.before(more))")
    }
  }

  /// What ends the refusals, said with each of them: a backend that takes no metrics is common.
  private var advice: String {
    let variable = what == "metrics" ? "METRICS" : "TRACES"
    return "; if it takes no \(what), set OTEL_\(variable)_EXPORTER=none, "
      + "or OTEL_EXPORTER_OTLP_\(variable)_ENDPOINT to a backend that does"
  }

  private static func before(_ unreported: Int) -> String { unreported == 0 ? "" : " (and \(unreported) times before)" }
}
