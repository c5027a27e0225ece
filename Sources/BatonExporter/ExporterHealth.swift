package import BatonModel
package import BatonTelemetry

/// Decides what the log says about an exporter: one line when exporting begins to fail, one line when it works again,
/// and a line for a refusal. A refusal is logged at most once a minute, and the same refusal is not logged again until
/// an export was taken as a whole.
package struct ExporterHealth: Hashable, Sendable {
  package enum Report: Hashable, Sendable {
    case down(reason: String)
    case back(after: Duration)
    /// The backend refused an export. `unreported` refusals before this one were not logged.
    case refused(reason: String, unreported: Int)
    /// The backend did not take a part of an export or, if `rejected` is 0, sent a warning. `unreported` refusals
    /// before this one were not logged.
    case partial(rejected: Int64, message: String, unreported: Int)
  }

  package var pause = Duration.seconds(60)
  private var downSince: Instant?
  private var nextRefusal: Instant?
  /// The refusal that was logged last; `nil` if an export has been taken as a whole since then.
  private var refused: Report?
  private var unreported = 0

  package init() {}

  /// Takes the verdict on an export, and returns what to log.
  ///
  /// - Parameter reason: for the verdict `retry`: why there was no answer, or which answer came.
  package mutating func note(_ verdict: ExportVerdict, reason: String, at now: Instant) -> [Report] {
    switch verdict {
    case .retry: return goDown(reason, at: now)
    case .delivered:
      refused = nil
      return comeBack(at: now)
    case .tooLarge(let reason), .rejected(let reason):
      return comeBack(at: now) + refusal(at: now) { .refused(reason: reason, unreported: $0) }
    case .partial(let rejected, let message):
      return comeBack(at: now)
        + refusal(at: now) { .partial(rejected: rejected, message: message, unreported: $0) }
    }
  }

  private mutating func goDown(_ reason: String, at now: Instant) -> [Report] {
    guard downSince == nil else { return [] }
    downSince = now
    return [.down(reason: reason)]
  }

  private mutating func comeBack(at now: Instant) -> [Report] {
    guard let since = downSince else { return [] }
    downSince = nil
    return [.back(after: now - since)]
  }

  private mutating func refusal(at now: Instant, _ report: (Int) -> Report) -> [Report] {
    guard nextRefusal.map({ $0 <= now }) ?? true, report(0) != refused else {
      unreported += 1
      return []
    }
    defer { (nextRefusal, unreported) = (now + pause, 0) }
    refused = report(0)
    return [report(unreported)]
  }
}
