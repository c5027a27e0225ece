import BatonBase
internal import BatonModel
internal import BatonTelemetry
internal import Logging
internal import Synchronization

/// Logs the reports of an `ExporterHealth`.
final class ExporterLog: Sendable {
  private let health = Mutex(ExporterHealth())
  private let what: String
  private let place: String
  private let clock: Clocks
  private let logger: Logger

  /// - Parameters:
  ///   - what: `traces` or `metrics`.
  ///   - place: the destination of the exports, without secrets.
  init(_ what: String, to place: String, clock: Clocks, logger: Logger) {
    (self.what, self.place, self.clock, self.logger) = (what, place, clock, logger)
  }

  /// Logs what is worth logging about an export. The result in a cancelled task is ignored, because it says nothing
  /// about the backend.
  func note(_ verdict: ExportVerdict, reason: String = "") {
    guard !Task.isCancelled else { return }
    let now = clock.instant()
    for report in health.withLock({ $0.note(verdict, reason: reason, at: now) }) { write(report) }
  }

  private func write(_ report: ExporterHealth.Report) {
    switch report {
    case .down(let reason): logger.warning("Exporting \(what) to \(place) fails: \(reason)")
    case .back(let after): logger.notice("Exporting \(what) to \(place) works again, after \(after.inWords)")
    case .refused(let reason, let more):
      logger.warning("\(place) refused \(what): \(reason)\(Self.before(more))\(advice)")
    case .partial(0, let message, let more):
      logger.warning("\(place) warns about the exported \(what): \(message)\(Self.before(more))")
    case .partial(let rejected, let message, let more):
      logger.warning("\(place) did not take \(rejected) of the \(what): \(message)\(Self.before(more))")
    }
  }

  /// Advice on how to end the refusals, which is part of each refusal's log line: it is common that a backend takes no
  /// metrics.
  private var advice: String {
    let variable = what == "metrics" ? "METRICS" : "TRACES"
    return "; if it takes no \(what), set OTEL_\(variable)_EXPORTER=none, "
      + "or OTEL_EXPORTER_OTLP_\(variable)_ENDPOINT to a backend that does"
  }

  private static func before(_ unreported: Int) -> String {
    unreported == 0 ? "" : " (\(unreported) earlier \(unreported == 1 ? "report was" : "reports were") not logged)"
  }
}
