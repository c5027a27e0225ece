import BatonIdentity
import BatonModel
import BatonProtobuf
import BatonStore
import BatonTelemetry
import BatonWire
import GRPCCore
import SwiftProtobuf

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The gRPC service that the command line uses. It translates messages and calls the coordinator, as the caller that
/// the interceptor has found.
struct OperatorsService: Baton_V1_Operators.SimpleServiceProtocol {
  private let coordinator: any OperatorAPI
  private let audit: CallAudit?
  private let meter: CallMeter?

  init(api: any OperatorAPI, audit: CallAudit? = nil, meter: CallMeter? = nil) {
    (coordinator, self.audit, self.meter) = (api, audit, meter)
  }

  init(of coordinator: Coordinator) {
    self.init(api: coordinator, audit: coordinator.callAudit, meter: coordinator.callMeter)
  }

  /// What the current caller may call. Without a caller nothing is permitted.
  var api: any OperatorAPI {
    get throws {
      guard let caller = Caller.current else { throw OperatorError.notPermitted("it is not known who calls") }
      return PermittedAPI(api: coordinator, caller: caller, audit: audit, meter: meter)
    }
  }

  func apply(request: Baton_V1_ApplyRequest, context: ServerContext) async throws -> Baton_V1_ApplyReply {
    try await answering {
      try WireLimits.definitions.check(request.definitions.count)
      let applied = try await api.apply(try request.definitions.enumerated().map(Self.definition))
      return .with { $0.applied = applied.map(\.proto) }
    }
  }

  func definitions(
    request: Baton_V1_DefinitionsRequest, response: RPCWriter<Baton_V1_DefinitionsReply>, context: ServerContext
  ) async throws {
    try await answering {
      try WireLimits.definitions.check(request.patterns.count)
      let patterns = try request.patterns.map { try IdentifierPattern(wire: $0) }
      for page in try Pages.of(try await api.definitions(named: patterns).map { try $0.proto }) {
        try await response.write(.with { $0.definitions = page.elements })
      }
    }
  }

  func requestDefinition(
    request: Baton_V1_ShowRequest, context: ServerContext
  ) async throws -> Baton_V1_RequestDefinitionReply {
    try await answering {
      let found = try await api.definition(
        of: try JobIdentifier(wire: request.identifier), number: request.optionalNumber)
      let json = try found.definition.json()
      return .with {
        $0.json = json
        $0.isApplied = found.isApplied
      }
    }
  }

  /// Decodes one definition and checks every rule before anything is stored, because a client that is not Baton's may
  /// send anything.
  static func definition(at index: Int, in json: Data) throws(OperatorError) -> Definition {
    do throws(DefinitionProblem) {
      return try Definition(json: json)
    } catch {
      throw .invalid("definition \(index + 1) of this call is not taken: \(error)")
    }
  }

  func remove(request: Baton_V1_RemoveRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.remove(try IdentifierPattern(wire: request.pattern))
      return Baton_V1_Empty()
    }
  }

  func submit(request: Baton_V1_SubmitRequest, context: ServerContext) async throws -> Baton_V1_SubmitReply {
    try await answering {
      let results = try await api.submit(Self.orders(request), by: request.principal)
      return .with { $0.answers = results.map(\.proto) }
    }
  }

  func submitFlow(request: Baton_V1_SubmitRequest, context: ServerContext) async throws -> Baton_V1_SubmitReply {
    try await answering {
      let results = try await api.submitFlow(Self.orders(request), by: request.principal)
      return .with { $0.answers = results.map(\.proto) }
    }
  }

  private static func orders(_ request: Baton_V1_SubmitRequest) throws -> [SubmissionOrder] {
    try WireLimits.submissions.check(request.items.count)
    try WireLimits.principal.check(name: request.principal)
    // A `traceparent` that cannot be parsed counts as absent
    // (https://www.w3.org/TR/trace-context/#traceparent-header).
    let parent =
      request.hasTraceparent ? TraceContext(traceparent: request.traceparent) : SubmitterInterceptor.span
    return try request.items.map { item in
      var order = try SubmissionOrder(item)
      order.parent = parent
      return order
    }
  }

  func list(request: Baton_V1_ListRequest, context: ServerContext) async throws -> Baton_V1_ListReply {
    try await answering {
      try WireLimits.states.check(request.states.count)
      let states = try request.states.map { name in
        guard let state = RequestState(rawValue: name) else { throw OperatorError.invalid("'\(name)' is not a state") }
        return state
      }
      let filter = RequestFilter(
        states: Set(states), pattern: try request.hasPattern ? IdentifierPattern(wire: request.pattern) : nil,
        host: try request.hasHost ? HostName.named(request.host) : nil,
        kind: try request.hasKind ? JobKind.named(request.kind) : nil,
        submitter: request.hasSubmitter ? request.submitter : nil,
        flow: request.hasFlow ? RequestID(request.flow) : nil, isNewestFirst: request.newestFirst)
      try WireLimits.principal.check(filter.submitter?.utf8.count ?? 0)
      let (after, limit) = (request.hasAfter ? RequestID(request.after) : nil, min(max(1, Int(request.limit)), 1000))
      // An older client takes a page with fewer requests than it asked for as the last one.
      guard request.takesShortPages else {
        let records = try await api.requests(filter, after: after, limit: limit)
        return .with { $0.requests = records.map(\.proto) }
      }
      return try await RequestPage(of: api, filter, after: after, limit: limit).proto
    }
  }

  func show(request: Baton_V1_ShowRequest, context: ServerContext) async throws -> Baton_V1_ShowReply {
    try await answering {
      try await api.details(
        try JobIdentifier(wire: request.identifier), number: request.optionalNumber,
        choosing: RequestChoice(request.choice)
      ).proto
    }
  }

  func watch(
    request: Baton_V1_ShowRequest, response: RPCWriter<Baton_V1_ShowReply>, context: ServerContext
  ) async throws {
    try await answering {
      try await api.watch(try JobIdentifier(wire: request.identifier), number: request.optionalNumber) { details in
        try await response.write(details.proto)
      }
    }
  }

  func logs(
    request: Baton_V1_LogsRequest, response: RPCWriter<Baton_V1_LogsReply>, context: ServerContext
  ) async throws {
    try await answering {
      try await api.logs(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        LogSelection(request)
      ) { try await response.write($0.proto) }
    }
  }

  func cancel(request: Baton_V1_CancelRequest, context: ServerContext) async throws -> Baton_V1_CancelReply {
    try await answering {
      try WireLimits.principal.check(name: request.principal)
      let cancelled = try await api.cancel(try CancelSelection(request), by: request.principal)
      return .with { $0.cancelled = cancelled.map(\.proto) }
    }
  }

  func retry(request: Baton_V1_RetryRequest, context: ServerContext) async throws -> Baton_V1_ShowReply {
    try await answering {
      let record = try await api.retry(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        skipping: request.skipping, withNewDefinition: request.withNewDefinition)
      return .with { $0.request = record.proto }
    }
  }

  func redefine(request: Baton_V1_ShowRequest, context: ServerContext) async throws -> Baton_V1_ShowReply {
    try await answering {
      let record = try await api.redefine(
        try JobIdentifier(wire: request.identifier), number: request.optionalNumber)
      return .with { $0.request = record.proto }
    }
  }

  func setSpread(request: Baton_V1_SetSpreadRequest, context: ServerContext) async throws -> Baton_V1_ShowReply {
    try await answering {
      let record = try await api.setSpread(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        lanes: Int(request.lanes))
      return .with { $0.request = record.proto }
    }
  }

  func setPriority(request: Baton_V1_SetPriorityRequest, context: ServerContext) async throws -> Baton_V1_ShowReply {
    try await answering {
      guard let priority = Priority(name: request.priority) else {
        throw OperatorError.invalid("the priority must be background, utility or userInitiated")
      }
      let record = try await api.setPriority(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil, priority)
      return .with { $0.request = record.proto }
    }
  }

  func setLimit(request: Baton_V1_SetLimitRequest, context: ServerContext) async throws -> Baton_V1_SetLimitReply {
    try await answering {
      let key = try LimitKey(wire: request.kind, request.key)
      let record = try await api.setLimit(
        key, request.hasValue ? try LimitSetting(wire: request.value, of: key.kind) : nil)
      return .with { $0.limit = record.proto }
    }
  }

  func limits(request: Baton_V1_LimitsRequest, context: ServerContext) async throws -> Baton_V1_LimitsReply {
    try await answering {
      guard request.beginning.utf8.count <= LimitKey.maximumBytes else {
        throw OperatorError.invalid("a key has at most \(LimitKey.maximumBytes) bytes")
      }
      let after = request.hasAfterKey ? try LimitKey(wire: request.afterKind, request.afterKey) : nil
      let limits = try await api.limits(
        beginningWith: request.beginning, after: after, limit: min(max(1, Int(request.limit)), Self.largestPage))
      return .with { $0.limits = limits.map(\.proto) }
    }
  }

  /// The most shards, or limits, of one answer, so that it fits in a message.
  private static let largestPage = 1000

  func shards(request: Baton_V1_ShardsRequest, context: ServerContext) async throws -> Baton_V1_ShardsReply {
    try await answering {
      let shards = try await api.shards(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        after: request.hasAfter ? Int(request.after) : nil, limit: min(max(1, Int(request.limit)), Self.largestPage))
      return .with { $0.shards = shards.map(\.proto) }
    }
  }

  func explain(request: Baton_V1_ShowRequest, context: ServerContext) async throws -> Baton_V1_ExplainReply {
    try await answering {
      try await api.explain(try JobIdentifier(wire: request.identifier), number: request.optionalNumber)
        .fittingIntoOneMessage
    }
  }

  func explainPages(
    request: Baton_V1_ShowRequest, response: RPCWriter<Baton_V1_ExplainReply>, context: ServerContext
  ) async throws {
    try await answering {
      let explanation = try await api.explain(
        try JobIdentifier(wire: request.identifier), number: request.optionalNumber)
      var cut = explanation.cut
      while let page = try cut.next() { try await response.write(page) }
    }
  }
}

extension OperatorsService {
  func trace(request: Baton_V1_ShowRequest, context: ServerContext) async throws -> Baton_V1_TraceReply {
    try await answering {
      let trace = try await api.trace(try JobIdentifier(wire: request.identifier), number: request.optionalNumber)
      return .with {
        $0.otlp = Data(TraceRequest(resource: Resource([]), spans: trace.spans).protobuf)
        $0.open = trace.open.map { Data($0.bytes) }
        $0.asOf = trace.asOf.nanoseconds
      }
    }
  }

  func simulateLaunch(
    request: Baton_V1_SimulateLaunchRequest, context: ServerContext
  ) async throws -> Baton_V1_SimulatedLaunch {
    try await answering {
      try await api.simulateLaunch(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        on: try request.hasHost ? HostName.named(request.host) : nil
      ).proto
    }
  }

  func simulateExpiry(
    request: Baton_V1_SimulateExpiryRequest, context: ServerContext
  ) async throws -> Baton_V1_SimulatedLaunch {
    try await answering {
      if request.hasReason, ExpiryReason.Kind(rawValue: request.reason) == nil {
        throw OperatorError.invalid("'\(request.reason)' is not a reason to expire")
      }
      return try await api.simulateExpiry(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        as: request.hasReason ? ExpiryReason.Kind(rawValue: request.reason) : nil
      ).proto
    }
  }
}

extension JobKind {
  static func named(_ text: String) throws(OperatorError) -> JobKind {
    guard let kind = JobKind(rawValue: text) else {
      throw .invalid("'\(text.escapedOnOneLine.prefix(64))' is not a kind")
    }
    return kind
  }
}

extension HostName {
  /// The host that an operator names. Its length and its characters are checked, but not the form that
  /// `HostName.isWellFormed` demands of new workers, because a host of an earlier version may have another name.
  static func named(_ text: String) throws(WireError) -> HostName {
    try WireLimits.hostArgument.check(name: text)
    return HostName(text)
  }
}

extension Baton_V1_ShowRequest {
  var optionalNumber: Int? { hasNumber ? Int(number) : nil }
}

extension CancelSelection {
  fileprivate init(_ proto: Baton_V1_CancelRequest) throws {
    guard proto.hasFlow else {
      self =
        proto.all
        ? .all
        : .identifier(try JobIdentifier(wire: proto.identifier), number: proto.hasNumber ? Int(proto.number) : nil)
      return
    }
    guard !proto.all, !proto.hasIdentifier, !proto.hasNumber else {
      throw WireError("a flow is cancelled as a whole: nothing else can be named with it")
    }
    self = .flow(RequestID(proto.flow))
  }
}

extension Baton_V1_RetryRequest {
  /// A shard without a skipped batch means nothing: all failed shards are retried.
  fileprivate var skipping: SkippedBatch {
    !skipBatch ? .nothing : hasShard ? .nextBatchOfShard(Int(shard)) : .nextBatch
  }
}
