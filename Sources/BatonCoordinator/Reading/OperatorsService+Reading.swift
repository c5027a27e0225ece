import BatonModel
import BatonProtobuf
import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

extension OperatorsService {
  func findHosts(
    request: Baton_V1_FindHostsRequest, context: ServerContext
  ) async throws -> Baton_V1_FindHostsReply {
    try await answering {
      if request.hasAfter { try WireLimits.hostArgument.check(name: request.after) }
      return try await api.hosts(
        try HostFilter(request), after: request.hasAfter ? HostName(request.after) : nil,
        limit: min(max(1, Int(request.limit)), Coordinator.mostHosts)
      ).proto
    }
  }

  /// A small fleet is explained by `ExplainPages`: the answer then says only how many hosts there are.
  func explainGroups(
    request: Baton_V1_ShowRequest, context: ServerContext
  ) async throws -> Baton_V1_ExplainGroupsReply {
    try await answering {
      let explanation = try await api.explain(
        try JobIdentifier(wire: request.identifier), number: request.optionalNumber, groupingBeyond: 0)
      guard let groups = explanation.groups else { return .with { $0.hosts = 0 } }
      return try groups.proto(of: explanation)
    }
  }

  func batches(request: Baton_V1_BatchesRequest, context: ServerContext) async throws -> Baton_V1_BatchesReply {
    try await answering {
      guard !request.hasShard || request.shard >= 0, !request.hasBatch || request.batch >= 0 else {
        throw OperatorError.invalid("batches and shards are counted from 0")
      }
      return try await api.batches(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        shard: request.hasShard ? Int(request.shard) : nil, batch: request.hasBatch ? Int(request.batch) : nil
      ).proto
    }
  }

  func forgetGoneHost(request: Baton_V1_ForgetHostRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.forgetHost(try HostName.named(request.host))
      return Baton_V1_Empty()
    }
  }

  func changes(
    request: Baton_V1_Empty, response: RPCWriter<Baton_V1_ChangesReply>, context: ServerContext
  ) async throws {
    try await answering {
      try await api.changes { topics in
        try await response.write(.with { $0.topics = topics.map(\.text).sorted() })
      }
    }
  }

  func hostHistory(
    request: Baton_V1_HostHistoryRequest, response: RPCWriter<Baton_V1_HostHistoryReply>, context: ServerContext
  ) async throws {
    try await answering {
      let history = try await api.history(
        of: try HostName.named(request.host), since: Timestamp(nanoseconds: request.since),
        limit: min(max(1, Int(request.limit)), ConditionChange.most))
      for page in try history.pages { try await response.write(page) }
    }
  }

  func prune(request: Baton_V1_PruneRequest, context: ServerContext) async throws -> Baton_V1_PruneReply {
    try await answering {
      try await api.prune(try PruneSelection(request), isRehearsal: request.isRehearsal).proto
    }
  }

  func versions(
    request: Baton_V1_VersionsRequest, response: RPCWriter<Baton_V1_VersionsReply>, context: ServerContext
  ) async throws {
    try await answering {
      let versions = try await api.versions(of: try IdentifierPattern(wire: request.pattern))
      for page in try Pages.of(try versions.map { try $0.proto }) {
        try await response.write(.with { $0.versions = page.elements })
      }
    }
  }

  func queue(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_QueueReply {
    try await answering { try await api.queue().proto }
  }

  func ableHosts(
    request: Baton_V1_AbleHostsRequest, context: ServerContext
  ) async throws -> Baton_V1_AbleHostsReply {
    try await answering {
      try WireLimits.comparedDefinitions.check(request.definitions.count)
      return try await api.ableHosts(for: try request.definitions.enumerated().map(Self.definition)).proto
    }
  }
}
