import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import HTTPTypes

extension Route {
  /// What can be said of schedules.
  static let schedules = [
    Route(.post, "/v1/definitions/{pattern}/pause", .method("SetSchedules")) { call in
      let pattern = try call.pattern
      var body = try await call.object()
      let reason = try body.needed("reason")
      try body.finish()
      return try await set(pattern, .pause(reason: reason), call)
    },
    Route(.post, "/v1/definitions/{pattern}/resume", .method("SetSchedules")) { call in
      let pattern = try call.pattern
      try await call.nothing()
      return try await set(pattern, .resume, call)
    },
    Route(.post, "/v1/definitions/{pattern}/backfill", .method("Backfill"), query: ["dryRun"], begin),
    Route(.delete, "/v1/definitions/{pattern}/backfill", .method("StopBackfill")) { call in
      let identifier = try identifier(call)
      let stopped = try await call.run { try await $0.stopBackfill(of: identifier) }
      return Answer(JSONValue(stopped: stopped, of: identifier))
    },
  ]

  private static func set(_ pattern: IdentifierPattern, _ word: ScheduleWord, _ call: Call) async throws -> Answer {
    let principal = call.claimedPrincipal
    let changed = try await call.run { try await $0.setSchedules(pattern, word, by: principal) }
    return Answer(["schedules": .array(changed.map { JSONValue($0, isPaused: word != .resume) })])
  }

  /// A schedule is that of one identifier.
  private static func identifier(_ call: Call) throws -> JobIdentifier {
    guard let identifier = try call.pattern.literal else {
      throw HTTPFailure.invalid("a backfill concerns one identifier, not a pattern that ends in '.*'")
    }
    return identifier
  }

  @Sendable private static func begin(_ call: Call) async throws -> Answer {
    let (identifier, isRehearsal) = (try identifier(call), try call.query.truth("dryRun"))
    var body = try await call.object()
    let (from, to) = (try body.needed("from"), try body.needed("to"))
    try body.finish()
    let pattern = IdentifierPattern(identifier)
    let found = try await call.run { try await $0.definitions(named: [pattern]) }
    let timeZone = found.first { $0.definition.pattern == pattern }?.definition.schedule?.timeZone ?? "UTC"
    let range: BackfillRange
    do {
      range = try BackfillRange(from: from, to: to, timeZone: timeZone)
    } catch {
      throw HTTPFailure.invalid("\(error)")
    }
    let (order, principal) = (
      BackfillOrder(identifier: identifier, from: range.from, until: range.until), call.claimedPrincipal
    )
    let plan = try await call.run { try await $0.backfill(order, by: principal, isRehearsal: isRehearsal) }
    return Answer(JSONValue(plan, of: identifier, isRehearsal: isRehearsal))
  }
}
