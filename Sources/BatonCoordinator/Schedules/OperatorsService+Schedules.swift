import BatonModel
import BatonProtobuf
import BatonWire
import GRPCCore
import SwiftProtobuf

extension OperatorsService {
  func setSchedules(
    request: Baton_V1_SetSchedulesRequest, context: ServerContext
  ) async throws -> Baton_V1_SetSchedulesReply {
    try await answering {
      try WireLimits.principal.check(name: request.principal)
      let changed = try await api.setSchedules(
        try IdentifierPattern(wire: request.pattern),
        request.isPaused ? .pause(reason: request.reason) : .resume, by: request.principal)
      return .with { $0.schedules = changed.map(\.proto) }
    }
  }

  func backfill(request: Baton_V1_BackfillRequest, context: ServerContext) async throws -> Baton_V1_BackfillReply {
    try await answering {
      try WireLimits.principal.check(name: request.principal)
      return try await api.backfill(
        BackfillOrder(
          identifier: try JobIdentifier(wire: request.identifier), from: Timestamp(nanoseconds: request.from),
          until: Timestamp(nanoseconds: request.until)), by: request.principal, isRehearsal: request.isRehearsal
      ).proto
    }
  }

  func stopBackfill(
    request: Baton_V1_StopBackfillRequest, context: ServerContext
  ) async throws -> Baton_V1_BackfillState {
    try await answering { try await api.stopBackfill(of: try JobIdentifier(wire: request.identifier)).proto }
  }
}
