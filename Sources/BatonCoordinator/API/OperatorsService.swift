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
      try WireLimits.submissions.check(request.items.count)
      try WireLimits.principal.check(name: request.principal)
      // A `traceparent` that cannot be parsed counts as absent
      // (https://www.w3.org/TR/trace-context/#traceparent-header).
      let parent =
        request.hasTraceparent ? TraceContext(traceparent: request.traceparent) : SubmitterInterceptor.span
      let orders = try request.items.map { item in
        var order = try SubmissionOrder(item)
        order.parent = parent
        return order
      }
      let results = try await api.submit(orders, by: request.principal)
      return .with { $0.answers = results.map(\.proto) }
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
        host: try request.hasHost ? HostName.named(request.host) : nil, isNewestFirst: request.newestFirst)
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
      let selection: CancelSelection =
        request.all
        ? .all
        : .identifier(
          try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil)
      let cancelled = try await api.cancel(selection, by: request.principal)
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

  /// The most shards of one answer, so that it fits in a message.
  private static let largestPage = 1000

  func shards(request: Baton_V1_ShardsRequest, context: ServerContext) async throws -> Baton_V1_ShardsReply {
    try await answering {
      let shards = try await api.shards(
        try JobIdentifier(wire: request.identifier), number: request.hasNumber ? Int(request.number) : nil,
        after: request.hasAfter ? Int(request.after) : nil, limit: min(max(1, Int(request.limit)), Self.largestPage))
      return .with { $0.shards = shards.map(\.proto) }
    }
  }

  func drain(request: Baton_V1_DrainRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.setDraining(try HostName.named(request.host), request.isDraining)
      return Baton_V1_Empty()
    }
  }

  func forgetHost(request: Baton_V1_ForgetHostRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.forget(try HostName.named(request.host))
      return Baton_V1_Empty()
    }
  }

  func fleet(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_FleetReply {
    try await answering { try await api.fleet().proto }
  }

  func inviteHost(
    request: Baton_V1_InviteHostRequest, context: ServerContext
  ) async throws -> Baton_V1_InviteHostReply {
    try await answering {
      try WireLimits.principal.check(name: request.principal)
      let invited = try await api.invite(
        try HostName.named(request.host), for: .nanoseconds(request.lifetime), by: request.principal,
        needsApproval: request.needsApproval)
      return .with {
        $0.token = invited.token.description
        $0.fleet = invited.fleet.proto
        $0.end = invited.end.nanoseconds
      }
    }
  }

  func waitingHosts(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_WaitingHostsReply {
    try await answering {
      let waiting = try await api.waitingHosts()
      return .with { $0.hosts = waiting.map(\.proto) }
    }
  }

  func approveHost(request: Baton_V1_ApproveHostRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try WireLimits.hostNumber.check(name: request.number)
      try await api.approve(try HostName.named(request.host), number: request.number)
      return Baton_V1_Empty()
    }
  }

  func rotateRoot(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_FleetReply {
    try await answering { try await api.rotateRoot().proto }
  }

  func revokeHost(
    request: Baton_V1_RevokeHostRequest, context: ServerContext
  ) async throws -> Baton_V1_RevokeHostReply {
    try await answering {
      let certificates = try await api.revoke(try HostName.named(request.host))
      return .with { $0.certificates = Int32(clamping: certificates) }
    }
  }

  func whoAmI(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_WhoAmIReply {
    try await answering { try await api.whoAmI().proto }
  }

  func createCredential(
    request: Baton_V1_CreateCredentialRequest, context: ServerContext
  ) async throws -> Baton_V1_CreateCredentialReply {
    try await answering {
      let created = try await api.createCredential(try CredentialOrder(request))
      return .with {
        $0.token = created.token.description
        ($0.credential, $0.fleet) = (created.credential.proto, created.fleet.proto)
      }
    }
  }

  func credentials(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_CredentialsReply {
    try await answering {
      let credentials = try await api.credentials()
      return .with { $0.credentials = credentials.map(\.proto) }
    }
  }

  func revokeCredential(
    request: Baton_V1_RevokeCredentialRequest, context: ServerContext
  ) async throws -> Baton_V1_RevokeCredentialReply {
    try await answering {
      try WireLimits.hostArgument.check(name: request.credential)
      let revoked = try await api.revokeCredential(request.credential)
      return .with {
        $0.credentials = Int32(clamping: revoked.count)
        $0.revokedBefore = Int32(clamping: revoked.before)
      }
    }
  }

  /// A page has at most 1,000 rows, which fit into one message.
  func audit(request: Baton_V1_AuditRequest, context: ServerContext) async throws -> Baton_V1_AuditReply {
    try await answering {
      let rows = try await api.audit(
        AuditFilter(request), after: request.after, limit: min(max(1, Int(request.limit)), 1000))
      return .with { $0.rows = rows.map(\.proto) }
    }
  }

  func verifyAudit(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_VerifyAuditReply {
    try await answering { try await api.verifyAudit().proto }
  }

  func namespaces(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_NamespacesReply {
    try await answering { try await api.namespaces().proto }
  }

  func coordinators(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_CoordinatorsReply {
    try await answering {
      let coordinators = try await api.coordinators()
      return .with { $0.coordinators = coordinators.map(\.proto) }
    }
  }

  func standing(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_StandingReply {
    try await answering { try await api.standing().proto }
  }

  func hosts(request: Baton_V1_Empty, context: ServerContext) async throws -> Baton_V1_HostsReply {
    try await answering {
      let pages = try Pages.of(await api.hostReports().lazy.map(\.proto))
      guard pages.reduce(0, { $0 + $1.bytes }) <= Pages<Baton_V1_HostsReply.Host>.largestMessage else {
        throw OperatorError.invalid(
          "the fleet is too large for one answer: use a client that asks for it in pages, such as this version's 'baton'"
        )
      }
      return .with { $0.hosts = pages.flatMap(\.elements) }
    }
  }

  func hostPages(
    request: Baton_V1_Empty, response: RPCWriter<Baton_V1_HostsReply>, context: ServerContext
  ) async throws {
    try await answering {
      for page in try Pages.of(await api.hostReports().lazy.map(\.proto)) {
        try await response.write(.with { $0.hosts = page.elements })
      }
    }
  }

  func pause(request: Baton_V1_PauseRequest, context: ServerContext) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.setPaused(request.isPaused)
      return Baton_V1_Empty()
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

  func evict(request: Baton_V1_EvictRequest, context: ServerContext) async throws -> Baton_V1_EvictReply {
    try await answering {
      let hosts = try await api.setEvicted(
        try IdentifierPattern(wire: request.pattern),
        from: try ((request.hasHost ? [request.host] : []) + request.hosts).map { try HostName.named($0) },
        request.isEvicted)
      return .with { $0.hosts = hosts.map(\.rawValue) }
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

  func simulateConditions(
    request: Baton_V1_SimulateConditionsRequest, context: ServerContext
  ) async throws -> Baton_V1_Empty {
    try await answering {
      try await api.simulateConditions(
        try ConditionOverrides(request.conditions.overrides), on: try HostName.named(request.host),
        lasting: min(max(.nanoseconds(request.conditions.lasting), .zero), .seconds(86_400)))
      return Baton_V1_Empty()
    }
  }
}

extension OperatorsService {
  /// Sends progress as fast as the caller reads it, and then the summary.
  func backup(
    request: Baton_V1_BackupRequest, response: RPCWriter<Baton_V1_BackupReply>, context: ServerContext
  ) async throws {
    try await answering {
      let (progress, source) = AsyncStream.makeStream(of: BackupProgress.self, bufferingPolicy: .bufferingNewest(1))
      async let summary = {
        defer { source.finish() }
        return try await api.backUpStore(to: request.path) { source.yield($0) }
      }()
      for await one in progress { try await response.write(one.proto) }
      let written = try await summary
      try await response.write(.with { $0.summary = written.proto })
    }
  }
}

extension OperatorsService {
  /// Sends progress as fast as the caller reads it, and then the summary.
  func moveStore(
    request: Baton_V1_MoveStoreRequest, response: RPCWriter<Baton_V1_MoveStoreReply>, context: ServerContext
  ) async throws {
    try await answering {
      try WireLimits.storePlace.check(name: request.to)
      guard !request.to.isEmpty else { throw OperatorError.invalid("a move needs the place where the store goes") }
      let (progress, source) = AsyncStream.makeStream(
        of: StoreMove.Progress.self, bufferingPolicy: .bufferingNewest(1))
      async let summary = {
        defer { source.finish() }
        return try await api.moveStore(to: StorePlace(request.to), isRehearsal: request.isRehearsal) {
          source.yield($0)
        }
      }()
      for await one in progress { try await response.write(one.proto) }
      let moved = try await summary
      try await response.write(.with { $0.summary = moved.proto })
    }
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

extension Baton_V1_RetryRequest {
  /// A shard without a skipped batch means nothing: all failed shards are retried.
  fileprivate var skipping: SkippedBatch {
    !skipBatch ? .nothing : hasShard ? .nextBatchOfShard(Int(shard)) : .nextBatch
  }
}
