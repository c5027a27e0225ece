package import BatonModel
import BatonProtobuf
import GRPCCore
import SwiftProtobuf

extension OperatorClient {
  package func setSchedules(
    _ pattern: IdentifierPattern, _ word: ScheduleWord, by principal: String
  ) async throws -> [ChangedSchedule] {
    let request = Baton_V1_SetSchedulesRequest.with {
      ($0.pattern, $0.principal) = (pattern.rawValue, principal)
      if case .pause(let reason) = word { ($0.isPaused, $0.reason) = (true, reason) }
    }
    return try await call { try await operators.setSchedules(request, metadata: metadata, options: options) }
      .schedules.map { try ChangedSchedule($0) }
  }

  package func backfill(
    _ order: BackfillOrder, by principal: String, isRehearsal: Bool
  ) async throws -> BackfillPlan {
    let request = Baton_V1_BackfillRequest.with {
      ($0.identifier, $0.principal, $0.isRehearsal) = (order.identifier.rawValue, principal, isRehearsal)
      ($0.from, $0.until) = (order.from.nanoseconds, order.until.nanoseconds)
    }
    return BackfillPlan(
      try await call { try await operators.backfill(request, metadata: metadata, options: options) })
  }

  package func stopBackfill(of identifier: JobIdentifier) async throws -> Backfill {
    let request = Baton_V1_StopBackfillRequest.with { $0.identifier = identifier.rawValue }
    return Backfill(
      try await call { try await operators.stopBackfill(request, metadata: metadata, options: options) })
  }
}
