package import BatonIdentity
package import BatonModel
import BatonProtobuf
package import BatonStore
package import BatonTelemetry
package import BatonWire
package import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A coordinator in another process, reached over gRPC.
package struct OperatorClient<Transport: ClientTransport>: OperatorAPI {
  let operators: Baton_V1_Operators.Client<Transport>
  let metadata: Metadata
  let endpoint: HostPort

  package init(client: GRPCClient<Transport>, metadata: Metadata, endpoint: HostPort) {
    operators = Baton_V1_Operators.Client(wrapping: client)
    self.metadata = metadata
    self.endpoint = endpoint
  }

  /// A client that shows the token of a credential. The coordinator must have been recognised before.
  package init(client: GRPCClient<Transport>, token: CredentialToken, endpoint: HostPort) {
    self.init(client: client, metadata: ["authorization": .string("Bearer \(token)")], endpoint: endpoint)
  }

  /// The options of every call. `call` limits the time.
  var options: CallOptions { CoordinatorClient.callOptions }

  /// How long an answer may take.
  private static var answer: Duration { .seconds(5) }
  /// How long an answer in pages may take: the larger the fleet, the longer it takes. A coordinator that is older than
  /// the pages answers that it does not know the method, and the client then asks for a single message.
  static var pages: Duration { .seconds(60) }
  /// How long an attempt to reach a receiver may take: the longest `timeout` of a receiver, and some time for the call.
  static var attempt: Duration { .seconds(310) }

  /// - Parameter limit: how long the answer may take; `nil` for a call that takes as long as it has to.
  func call<Result: Sendable>(
    within limit: Duration? = answer, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    do {
      guard let limit else { return try await body() }
      return try await CallDeadline.within(limit, body)
    } catch let error as RPCError {
      throw error.meaning(at: endpoint)
    }
  }

  package func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition] {
    let request = try Baton_V1_ApplyRequest.with { $0.definitions = try definitions.map { try $0.json() } }
    return try await call { try await operators.apply(request, metadata: metadata, options: options) }
      .applied.map(AppliedDefinition.init)
  }

  package func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport] {
    let request = Baton_V1_DefinitionsRequest.with { $0.patterns = patterns.map(\.rawValue) }
    return try await call(within: Self.pages) {
      try await operators.definitions(request, metadata: metadata, options: options) { response in
        var definitions: [DefinitionReport] = []
        for try await page in response.messages { definitions += try page.definitions.map(DefinitionReport.init) }
        return definitions
      }
    }
  }

  package func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition {
    let request = Baton_V1_ShowRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
    }
    let reply = try await call {
      try await operators.requestDefinition(request, metadata: metadata, options: options)
    }
    return RequestDefinition(definition: try Definition(json: reply.json), isApplied: reply.isApplied)
  }

  package func remove(_ pattern: IdentifierPattern) async throws {
    _ = try await call {
      try await operators.remove(.with { $0.pattern = pattern.rawValue }, metadata: metadata, options: options)
    }
  }

  package func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    let request = submitRequest(orders, by: principal)
    return try await call { try await operators.submit(request, metadata: metadata, options: options) }
      .answers.map(SubmissionResult.init)
  }

  package func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    let request = submitRequest(orders, by: principal)
    return try await call { try await operators.submitFlow(request, metadata: metadata, options: options) }
      .answers.map(SubmissionResult.init)
  }

  private func submitRequest(_ orders: [SubmissionOrder], by principal: String) -> Baton_V1_SubmitRequest {
    .with {
      $0.items = orders.map(\.proto)
      $0.principal = principal
      // All submissions of one call have one submitter, and therefore one parent span.
      if let parent = orders.first?.parent { $0.traceparent = parent.traceparent }
    }
  }

  package func details(
    _ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice
  ) async throws -> RequestDetails {
    var request = showRequest(identifier, number)
    request.choice = choice.proto
    return try RequestDetails(
      try await call { [request] in try await operators.show(request, metadata: metadata, options: options) })
  }

  package func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    var request = Baton_V1_ListRequest.with {
      $0.states = filter.states.map(\.rawValue).sorted()
      if let pattern = filter.pattern { $0.pattern = pattern.rawValue }
      if let host = filter.host { $0.host = host.rawValue }
      if let kind = filter.kind { $0.kind = kind.rawValue }
      if let submitter = filter.submitter { $0.submitter = submitter }
      if let flow = filter.flow { $0.flow = flow.rawValue }
      if let after { $0.after = after.rawValue }
      $0.limit = Int32(limit)
      $0.newestFirst = filter.isNewestFirst
      $0.takesShortPages = true
    }
    // A page ends early if its requests do not fit into one message.
    var page = ListedRequests(records: [])
    repeat {
      let reply = try await call { [request] in
        try await operators.list(request, metadata: metadata, options: options)
      }
      let records = try reply.requests.map(RequestRecord.init)
      // An earlier version knows no kind and no submitter, and sends all requests.
      page.records += records.filter { record in
        filter.kind.map { $0 == record.kind } ?? true && filter.submitter.map { $0 == record.principal } ?? true
      }
      page.next = reply.hasNext ? RequestID(reply.next) : reply.hasMore_p ? records.last?.id : nil
      if let next = page.next { request.after = next.rawValue }
      request.limit = Int32(limit - page.records.count)
    } while page.next != nil && page.records.count < limit && !filter.isNarrowed
    return page
  }

  package func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws {
    try await call(within: nil) {
      try await operators.watch(
        showRequest(identifier, number), metadata: metadata, options: options
      ) { response in
        for try await reply in response.messages { try await body(try RequestDetails(reply)) }
      }
    }
  }

  package func logs(
    _ identifier: JobIdentifier, number: Int?, _ selection: LogSelection,
    _ body: @escaping @Sendable (LogPiece) async throws -> Void
  ) async throws {
    var request = selection.proto
    request.identifier = identifier.rawValue
    if let number { request.number = Int64(number) }
    try await call(within: nil) { [request] in
      try await operators.logs(request, metadata: metadata, options: options) { response in
        for try await reply in response.messages { try await body(LogPiece(reply)) }
      }
    }
  }

  package func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation] {
    let request = Baton_V1_CancelRequest.with {
      $0.principal = principal
      switch selection {
      case .all: $0.all = true
      case .identifier(let identifier, let number):
        $0.identifier = identifier.rawValue
        if let number { $0.number = Int64(number) }
      case .flow(let flow): $0.flow = flow.rawValue
      }
    }
    return try await call { try await operators.cancel(request, metadata: metadata, options: options) }
      .cancelled.map(Cancellation.init)
  }

  package func retry(
    _ identifier: JobIdentifier, number: Int?, skipping: SkippedBatch, withNewDefinition: Bool
  ) async throws -> RequestRecord {
    let request = Baton_V1_RetryRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      $0.skipBatch = skipping != .nothing
      if case .nextBatchOfShard(let shard) = skipping { $0.shard = Int32(clamping: shard) }
      $0.withNewDefinition = withNewDefinition
    }
    return try RequestRecord(
      try await call { try await operators.retry(request, metadata: metadata, options: options) }.request)
  }

  package func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord {
    try RequestRecord(
      try await call {
        try await operators.redefine(showRequest(identifier, number), metadata: metadata, options: options)
      }.request)
  }

  package func setSpread(_ identifier: JobIdentifier, number: Int?, lanes: Int) async throws -> RequestRecord {
    let request = Baton_V1_SetSpreadRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      $0.lanes = Int32(clamping: lanes)
    }
    return try RequestRecord(
      try await call { try await operators.setSpread(request, metadata: metadata, options: options) }.request)
  }

  package func setPriority(
    _ identifier: JobIdentifier, number: Int?, _ priority: Priority
  ) async throws -> RequestRecord {
    let request = Baton_V1_SetPriorityRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      $0.priority = priority.name
    }
    return try RequestRecord(
      try await call { try await operators.setPriority(request, metadata: metadata, options: options) }.request)
  }

  package func setLimit(_ key: LimitKey, _ setting: LimitSetting?) async throws -> LimitRecord {
    let request = Baton_V1_SetLimitRequest.with {
      ($0.kind, $0.key) = (key.kind.rawValue, key.text)
      if let setting { $0.value = setting.proto }
    }
    return try LimitRecord(
      try await call { try await operators.setLimit(request, metadata: metadata, options: options) }.limit)
  }

  package func limits(
    beginningWith beginning: String, after: LimitKey?, limit: Int
  ) async throws -> [LimitRecord] {
    let request = Baton_V1_LimitsRequest.with {
      $0.beginning = beginning
      if let after { ($0.afterKey, $0.afterKind) = (after.text, after.kind.rawValue) }
      $0.limit = Int32(clamping: limit)
    }
    return try await call { try await operators.limits(request, metadata: metadata, options: options) }
      .limits.map { try LimitRecord($0) }
  }

  package func shards(
    _ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int
  ) async throws -> [ShardRecord] {
    let request = Baton_V1_ShardsRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      if let after { $0.after = Int32(clamping: after) }
      $0.limit = Int32(clamping: limit)
    }
    return try await call { try await operators.shards(request, metadata: metadata, options: options) }
      .shards.map { try ShardRecord($0) }
  }

  package func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    try await call(within: Self.pages) {
      let request = showRequest(identifier, number)
      do {
        let pages = try await operators.explainPages(request, metadata: metadata, options: options) { response in
          var pages: [Baton_V1_ExplainReply] = []
          for try await page in response.messages { pages.append(page) }
          return pages
        }
        return try Explanation(pages: pages)
      } catch let error as RPCError where error.code == .unimplemented {
        return try Explanation(
          try await operators.explain(request, metadata: metadata, options: options))
      }
    }
  }

  package func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace {
    let reply = try await call {
      try await operators.trace(showRequest(identifier, number), metadata: metadata, options: options)
    }
    let request = try TraceRequest(protobuf: Array(reply.otlp))
    return RequestTrace(
      spans: request.spans, open: Set(reply.open.compactMap { SpanID(bytes: Array($0)) }),
      asOf: Timestamp(nanoseconds: reply.asOf))
  }

  package func simulateLaunch(
    _ identifier: JobIdentifier, number: Int?, on host: HostName?
  ) async throws -> SimulatedLaunch {
    let request = Baton_V1_SimulateLaunchRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      if let host { $0.host = host.rawValue }
    }
    return try SimulatedLaunch(
      try await call { try await operators.simulateLaunch(request, metadata: metadata, options: options) })
  }

  package func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch {
    let request = Baton_V1_SimulateExpiryRequest.with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
      if let reason { $0.reason = reason.rawValue }
    }
    return try SimulatedLaunch(
      try await call { try await operators.simulateExpiry(request, metadata: metadata, options: options) })
  }

  func showRequest(_ identifier: JobIdentifier, _ number: Int?) -> Baton_V1_ShowRequest {
    .with {
      $0.identifier = identifier.rawValue
      if let number { $0.number = Int64(number) }
    }
  }
}
