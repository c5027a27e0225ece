package import BatonModel
import BatonProtobuf
package import BatonStore
import BatonWire
import GRPCCore
import SwiftProtobuf

extension OperatorClient {
  package func hosts(_ filter: HostFilter, after: HostName?, limit: Int) async throws -> HostPage {
    let request = filter.proto(after: after, limit: limit)
    let reply = try await known { try await operators.findHosts(request, metadata: metadata, options: options) }
    // An older coordinator tells all of its hosts.
    guard let reply else { return HostPage(try await hostReports(), filter, after: after, limit: limit) }
    return try HostPage(reply)
  }

  /// The answer to a call; `nil` if the coordinator is older than the method.
  private func known<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result? {
    try await call(within: Self.pages) {
      do { return try await body() } catch let error as RPCError where error.code == .unimplemented { return nil }
    }
  }

  /// An older coordinator does not tell its changes; the call then throws `OperatorError.refused`.
  package func changes(_ body: @escaping @Sendable (Set<ChangeTopic>) async throws -> Void) async throws {
    try await call(within: nil) {
      do {
        try await operators.changes(Baton_V1_Empty(), metadata: metadata, options: options) { response in
          for try await reply in response.messages { try await body(Set(reply.topics.map { ChangeTopic($0) })) }
        }
      } catch let error as RPCError where error.code == .unimplemented {
        throw OperatorError.refused(.unavailable("this coordinator is too old to tell its changes"))
      }
    }
  }

  package func forgetHost(_ host: HostName) async throws {
    let request = Baton_V1_ForgetHostRequest.with { $0.host = host.rawValue }
    _ = try await call { try await operators.forgetGoneHost(request, metadata: metadata, options: options) }
  }

  package func history(of host: HostName, since: Timestamp, limit: Int) async throws -> HostHistory {
    let request = Baton_V1_HostHistoryRequest.with {
      ($0.host, $0.since, $0.limit) = (host.rawValue, since.nanoseconds, Int32(clamping: limit))
    }
    return try await call(within: Self.pages) {
      try await operators.hostHistory(request, metadata: metadata, options: options) { response in
        var pages: [Baton_V1_HostHistoryReply] = []
        for try await page in response.messages { pages.append(page) }
        return try HostHistory(pages: pages)
      }
    }
  }

  /// It deletes up to `PruneSelection.most` requests, so it may take long.
  package func prune(_ selection: PruneSelection, isRehearsal: Bool) async throws -> PruneAnswer {
    let request = selection.proto(isRehearsal: isRehearsal)
    return PruneAnswer(
      try await call(within: Self.pages) {
        try await operators.prune(request, metadata: metadata, options: options)
      })
  }

  package func versions(of pattern: IdentifierPattern) async throws -> [DefinitionVersion] {
    let request = Baton_V1_VersionsRequest.with { $0.pattern = pattern.rawValue }
    return try await call(within: Self.pages) {
      try await operators.versions(request, metadata: metadata, options: options) { response in
        var versions: [DefinitionVersion] = []
        for try await page in response.messages { versions += try page.versions.map { try DefinitionVersion($0) } }
        return versions
      }
    }
  }

  package func batches(_ identifier: JobIdentifier, number: Int?, shard: Int?, batch: Int?) async throws -> BatchList {
    let request = Baton_V1_BatchesRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      if let shard { $0.shard = Int32(clamping: shard) }
      if let batch { $0.batch = Int64(batch) }
    }
    let reply = try await known { try await operators.batches(request, metadata: metadata, options: options) }
    guard let reply else { throw OperatorError.conflict("the coordinator is of a version that tells no items") }
    return try BatchList(reply)
  }

  package func queue() async throws -> QueueReport {
    try QueueReport(
      try await call { try await operators.queue(Baton_V1_Empty(), metadata: metadata, options: options) })
  }

  package func ableHosts(for definitions: [Definition]) async throws -> AbleHosts {
    let request = try Baton_V1_AbleHostsRequest.with { $0.definitions = try definitions.map { try $0.json() } }
    return AbleHosts(
      try await call(within: Self.pages) {
        try await operators.ableHosts(request, metadata: metadata, options: options)
      })
  }

  package func explain(
    _ identifier: JobIdentifier, number: Int?, groupingBeyond few: Int
  ) async throws -> Explanation {
    let request = showRequest(identifier, number)
    let reply = try await known { try await operators.explainGroups(request, metadata: metadata, options: options) }
    // Of few hosts each is told with its own obstacles.
    guard let reply, reply.hosts > few else { return try await explain(identifier, number: number) }
    var explanation = try Explanation(reply.explanation)
    explanation.groups = ExplainedGroups(reply)
    return explanation
  }
}
