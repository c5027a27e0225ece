package import BatonModel
package import BatonTelemetry

/// What the log says of an exporter: a line when it goes down and one when it is back, and one for a refusal. The same
/// refusal is not said again until something was taken, and never more than one a minute.
package struct ExporterHealth: Hashable, Sendable {
  package enum Report: Hashable, Sendable {
    case down(reason: String)
    case back(after: Duration)
    /// With how many refusals were not reported before it.
    case refused(reason: String, unreported: Int)
    /// Some were not taken, or (0) there is a warning.
    case partial(rejected: Int64, message: String, unreported: Int)
  }

  package var pause = Duration.seconds(60)
  private var downSince: Instant?
  private var nextRefusal: Instant?
  /// The refusal that was reported last; nil since everything was taken.
  private var refused: Report?
  private var unreported = 0

  package init() {}

  /// - Parameter reason: why there was no answer, or which one; for a verdict that is to be tried again.
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
