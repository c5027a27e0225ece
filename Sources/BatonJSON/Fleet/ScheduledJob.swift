import BatonBase
package import BatonCoordinator
package import BatonModel
package import BatonStore

/// A job that comes by itself, with its newest requests.
package struct ScheduledJob: Sendable {
  package var definition: Definition
  package var standing: ScheduleStanding
  /// The request that waits for its first launch; `nil` if there is none.
  package var next: RequestRecord?
  /// The request that was launched last; `nil` if none was, or if it is not kept any more.
  package var last: RequestRecord?

  package init(_ report: DefinitionReport, asking api: any OperatorAPI) async throws {
    let newest = try await api.page(
      of: RequestFilter(pattern: report.definition.pattern, isNewestFirst: true), after: nil, limit: 3
    ).records
    (definition, standing) = (report.definition, report.standing)
    next = newest.first { $0.launches == 0 && $0.state.isPending }
    last = newest.first { $0.launches > 0 }
  }

  /// Whether a definition comes by itself, or has a pause or a backfill from when it did.
  package static func includes(_ report: DefinitionReport) -> Bool {
    report.definition.repeats || !report.standing.isUsual
  }

  /// The time of the next request; `nil` while it waits for something else than a time, and if there is none.
  package var nextAt: Timestamp? {
    next.flatMap { $0.state == .scheduled && $0.eligibleAt != .distantFuture ? $0.eligibleAt : nil }
  }

  /// The time zone in which people read `nextAt`.
  package var zone: ZoneOffsets { definition.schedule.flatMap { ZoneOffsets.named($0.timeZone) } ?? .utc }

  package var json: JSONValue {
    [
      "identifier": JSONValue(definition.pattern.rawValue), "when": JSONValue(definition.comesWhen),
      "timeZone": JSONValue(definition.schedule?.timeZone),
      "nextAt": JSONValue(next.flatMap { $0.eligibleAt == .distantFuture ? nil : $0.eligibleAt }),
      "paused": JSONValue(standing.pause), "backfill": JSONValue(standing.backfill),
      "nextRequest": JSONValue(next?.number), "lastStartedAt": JSONValue(last?.startedAt),
      "lastRequest": JSONValue(last?.number), "lastOutcome": JSONValue(last?.outcome),
    ]
  }
}

extension Definition {
  /// When requests come by themselves, such as `0 2 * * * Europe/Berlin` or `every 24h`.
  package var comesWhen: String {
    if let schedule { return "\(schedule.cron.text) \(schedule.timeZone)" }
    return repeatEvery.map { "every \($0.inWords)" } ?? "-"
  }
}
