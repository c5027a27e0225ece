import BatonModel

extension PermittedAPI {
  func setSchedules(
    _ pattern: IdentifierPattern, _ word: ScheduleWord, by principal: String
  ) async throws -> [ChangedSchedule] {
    let method =
      switch word {
      case .pause: "PauseSchedule"
      case .resume: "ResumeSchedule"
      }
    try await check(pattern, method)
    return try await changing(method, pattern.rawValue, claiming: principal) {
      try await api.setSchedules(pattern, word, by: caller.principal(claiming: principal))
    }
  }

  /// A rehearsal changes nothing, so the audit log does not have it.
  func backfill(
    _ order: BackfillOrder, by principal: String, isRehearsal: Bool
  ) async throws -> BackfillPlan {
    try await check(order.identifier, nil, "Backfill")
    let name = caller.principal(claiming: principal)
    if isRehearsal { return try await api.backfill(order, by: name, isRehearsal: true) }
    return try await changing("Backfill", order.identifier.rawValue, claiming: principal) {
      try await api.backfill(order, by: name, isRehearsal: false)
    }
  }

  func stopBackfill(of identifier: JobIdentifier) async throws -> Backfill {
    try await check(identifier, nil, "StopBackfill")
    return try await changing("StopBackfill", identifier.rawValue) { try await api.stopBackfill(of: identifier) }
  }
}
