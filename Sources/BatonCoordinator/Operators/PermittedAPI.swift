import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry

/// The calls of one caller, limited to what the caller's credential permits. The scope of a call was checked before
/// (`OperatorInterceptor`); this checks what the call concerns:
/// - A caller with patterns sees and changes only identifiers that they cover. Everything else does not exist for this
///   caller: the answer is the same whether there is such a job or not, and comes before anything is looked up.
/// - A caller with the scope `submit`, but not `operate`, cancels and retries only its own requests, and reads only
///   their output.
/// - The principal of what is done is the credential's name.
///
/// Each call that changes something, and each refusal, gets a row in the audit log.
struct PermittedAPI: OperatorAPI {
  let api: any OperatorAPI
  let caller: Caller
  /// `nil` in tests that need no audit log.
  let audit: CallAudit?
  let meter: CallMeter?

  // MARK: Checks

  func entry(_ method: String, _ object: String, claiming claim: String? = nil) -> AuditEntry {
    AuditEntry(
      at: audit?.now ?? Timestamp(nanoseconds: 0), actor: caller.name, credential: caller.credential?.id,
      peer: caller.peer, method: method, object: object,
      detail: claim.map { $0.isEmpty || $0 == caller.name ? "" : "onBehalfOf=\($0.escapedOnOneLine)" } ?? "")
  }

  /// Refuses a call.
  func refuse(_ method: String, _ object: String, _ error: OperatorError, _ why: String) async -> OperatorError {
    await audit?.noteDenied(entry(method, object), why)
    return error
  }

  /// Carries out a call that changes something.
  /// - Parameters:
  ///   - detail: what else the audit log says.
  ///   - nothing: why a result means that nothing was changed; `nil` if it was.
  func changing<Result: Sendable>(
    _ method: String, _ object: String, claiming claim: String? = nil, detail: String? = nil,
    _ body: @Sendable () async throws -> Result, nothing: @Sendable (Result) -> String? = { _ in nil }
  ) async throws -> Result {
    guard let audit else { return try await body() }
    var entry = entry(method, object, claiming: claim)
    if let detail { entry = entry.with(entry.outcome, detail) }
    return try await audit.changing(entry, body, nothing: nothing)
  }

  func check(_ identifier: JobIdentifier, _ number: Int?, _ method: String) async throws {
    guard !caller.covers(identifier) else { return }
    let name = identifier.rawValue
    let message =
      number.map { "there is no request \($0) of '\(name)': look at 'baton list \(name)'" }
      ?? "there is no job '\(name)': look at 'baton list'"
    throw await refuse(method, name, .notFound(message), "outside of the credential's patterns")
  }

  func check(_ pattern: IdentifierPattern, _ method: String) async throws {
    guard !caller.covers(pattern) else { return }
    throw await refuse(
      method, pattern.rawValue, .notFound("there is no job '\(pattern)': look at 'baton list'"),
      "outside of the credential's patterns")
  }

  /// Refuses a caller with patterns what concerns the whole fleet.
  func checkUnlimited(_ method: String, _ object: String) async throws {
    guard let limits = caller.limits else { return }
    throw await refuse(
      method, object,
      .notPermitted(
        "the credential '\(caller.name)' is limited to \(limits.map(\.rawValue).joined(separator: ", ")), and this "
          + "concerns other jobs too"), "it concerns the whole fleet")
  }

  private func checkCommands(_ record: RequestRecord, _ method: String) async throws {
    guard !caller.commands(record) else { return }
    throw await refuse(
      method, "\(record.identifier)#\(record.number)",
      .notPermitted(
        "request \(record.number) of '\(record.identifier)' was submitted by \(record.principal.escapedOnOneLine), and "
          + "the credential '\(caller.name)' has no scope 'operate'"), "submitted by another principal")
  }

  /// The details without what the caller may not read.
  private func permitted(_ details: RequestDetails) -> RequestDetails {
    var details = details
    details.flow.removeAll { !caller.covers($0.identifier) }
    guard !caller.readsLogs(of: details.record) else { return details }
    details.record.payload = nil
    if details.waiting?.principal != caller.name { details.waiting?.payload = nil }
    return details
  }

  // MARK: Definitions

  func apply(_ definitions: [Definition]) async throws -> [AppliedDefinition] {
    let names = definitions.map(\.pattern.rawValue).joined(separator: " ")
    for definition in definitions where !caller.covers(definition.pattern) {
      throw await refuse(
        "Apply", definition.pattern.rawValue,
        .notPermitted(
          "'\(definition.pattern)' may not be defined with the credential '\(caller.name)', which is limited to "
            + (caller.limits ?? []).map(\.rawValue).joined(separator: ", ")), "outside of the credential's patterns")
    }
    for definition in definitions {
      guard let (key, other) = definition.submitted.first(where: { !caller.covers($0.pattern) }) else { continue }
      throw await refuse(
        "Apply", definition.pattern.rawValue,
        .notPermitted(
          "'\(key)' of '\(definition.pattern)' names '\(other)', which the credential '\(caller.name)' may not submit: "
            + "it is limited to \((caller.limits ?? []).map(\.rawValue).joined(separator: ", "))"),
        "\(key) outside of the credential's patterns")
    }
    return try await changing("Apply", names) { try await api.apply(definitions) }
  }

  func definitions(named patterns: [IdentifierPattern]) async throws -> [DefinitionReport] {
    try await api.definitions(named: patterns).filter { caller.covers($0.definition.pattern) }
  }

  func definition(of identifier: JobIdentifier, number: Int?) async throws -> RequestDefinition {
    try await check(identifier, number, "RequestDefinition")
    return try await api.definition(of: identifier, number: number)
  }

  func remove(_ pattern: IdentifierPattern) async throws {
    try await check(pattern, "Remove")
    try await changing("Remove", pattern.rawValue) { try await api.remove(pattern) }
  }

  // MARK: Requests

  func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    try await takeSubmissions(orders.count, "SubmitFlow")
    if let other = orders.first(where: { !caller.covers($0.identifier) }) {
      await audit?.noteDenied(entry("SubmitFlow", other.identifier.rawValue), "outside of the credential's patterns")
      return orders.map { order in
        caller.covers(order.identifier)
          ? .refused(
            code: Refusal.Kind.unavailable.rawValue,
            message: "nothing of the flow was submitted, because another job of it is not permitted")
          : Self.unknown(order.identifier)
      }
    }
    let names = Set(orders.map(\.identifier)).sorted().map(\.rawValue).joined(separator: " ")
    let results = try await changing("SubmitFlow", names, claiming: principal) {
      try await api.submitFlow(orders, by: caller.principal(claiming: principal))
    } nothing: {
      Self.refusals($0)
    }
    return caller.limits == nil ? results : zip(orders, results).map(Self.withoutNames)
  }

  /// - Throws: `.overloaded` if the credential submits more than it may.
  private func takeSubmissions(_ count: Int, _ method: String) async throws {
    guard let credential = caller.credential, meter?.takeSubmissions(count, of: credential.id) == false else { return }
    await audit?.noteDenied(.submissions, caller.name, from: caller.peer, calling: method)
    throw OperatorError.overloaded(
      "the credential '\(caller.name)' submits more than rates.submissions permits; nothing was submitted")
  }

  func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    if !caller.may(.operate), let order = orders.first(where: { $0.poke == .immediate }) {
      throw await refuse(
        "Submit", order.identifier.rawValue,
        .notPermitted("a poke of priority 10 needs the scope 'operate', because it may disturb people"),
        "a poke of priority 10")
    }
    try await takeSubmissions(orders.count, "Submit")
    let permitted = orders.filter { caller.covers($0.identifier) }
    if let other = orders.first(where: { !caller.covers($0.identifier) }) {
      await audit?.noteDenied(entry("Submit", other.identifier.rawValue), "outside of the credential's patterns")
    }
    var results: [SubmissionResult] = []
    if !permitted.isEmpty {
      let names = Set(permitted.map(\.identifier)).sorted().map(\.rawValue).joined(separator: " ")
      results = try await changing("Submit", names, claiming: principal) {
        try await api.submit(permitted, by: caller.principal(claiming: principal))
      } nothing: {
        Self.refusals($0)
      }
      if caller.limits != nil { results = zip(permitted, results).map(Self.withoutNames) }
    }
    var answers = results[...]
    return orders.map { caller.covers($0.identifier) ? answers.removeFirst() : Self.unknown($0.identifier) }
  }

  /// The codes of the refusals, if every order was refused.
  private static func refusals(_ results: [SubmissionResult]) -> String? {
    let codes = results.compactMap { if case .refused(let code, _) = $0 { code } else { nil } }
    return codes.count == results.count ? Set(codes).sorted().joined(separator: " ") : nil
  }

  private static func unknown(_ identifier: JobIdentifier) -> SubmissionResult {
    let refusal = Refusal.notPermitted(identifier, nearest: nil)
    return .refused(code: refusal.code, message: refusal.message)
  }

  /// The answer without the name of a similar job, which the caller may not know of.
  private static func withoutNames(_ order: SubmissionOrder, _ result: SubmissionResult) -> SubmissionResult {
    guard case .refused(let code, _) = result, code == Refusal.Kind.notPermitted.rawValue else { return result }
    return unknown(order.identifier)
  }

  func details(
    _ identifier: JobIdentifier, number: Int?, choosing choice: RequestChoice
  ) async throws -> RequestDetails {
    try await check(identifier, number, "Show")
    return permitted(try await api.details(identifier, number: number, choosing: choice))
  }

  /// A caller with patterns gets only what they cover: one list for each of its patterns, put together.
  func page(of filter: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    guard let limits = caller.limits else { return try await api.page(of: filter, after: after, limit: limit) }
    var pages: [ListedRequests] = []
    for pattern in limits {
      var part = filter
      if let asked = filter.pattern {
        guard asked.covers(pattern) || pattern.covers(asked) else { continue }
        if asked.covers(pattern) { part.pattern = pattern }
      } else {
        part.pattern = pattern
      }
      pages.append(try await page(ofPart: part, after: after, limit: limit))
    }
    return ListedRequests(merging: pages, of: filter, limit: limit)
  }

  /// Lists by ids are put together as far as each of them was looked at. Where another list ends short says nothing in
  /// the order of ends, so such a list is read until it has enough.
  private func page(ofPart part: RequestFilter, after: RequestID?, limit: Int) async throws -> ListedRequests {
    if part.isNarrowed, part.order != .endedLast { return try await api.page(of: part, after: after, limit: limit) }
    return ListedRequests(records: try await api.requests(part, after: after, limit: limit + 1))
  }

  func watch(
    _ identifier: JobIdentifier, number: Int?, _ body: @escaping @Sendable (RequestDetails) async throws -> Void
  ) async throws {
    try await check(identifier, number, "Watch")
    try await api.watch(identifier, number: number) { try await body(permitted($0)) }
  }

  func logs(
    _ identifier: JobIdentifier, number: Int?, _ selection: LogSelection,
    _ body: @escaping @Sendable (LogPiece) async throws -> Void
  ) async throws {
    try await check(identifier, number, "Logs")
    var number = number
    if !(caller.credential?.scopes.readsAllLogs ?? true) {
      let record = try await api.details(identifier, number: number).record
      guard caller.readsLogs(of: record) else {
        throw await refuse(
          "Logs", "\(identifier)#\(record.number)",
          .notPermitted("the output of this request needs the scope 'logs', which '\(caller.name)' does not have"),
          "submitted by another principal")
      }
      // Another request of the identifier may be the current one by now.
      number = record.number
    }
    try await api.logs(identifier, number: number, selection, body)
  }

  func cancel(_ selection: CancelSelection, by principal: String) async throws -> [Cancellation] {
    let name = caller.principal(claiming: principal)
    switch selection {
    case .identifier(let identifier, let number):
      try await check(identifier, number, "Cancel")
      let object = "\(identifier)" + (number.map { "#\($0)" } ?? "")
      guard !(caller.credential?.scopes.commandsAll ?? true) else {
        return try await changing("Cancel", object, claiming: principal) { try await api.cancel(selection, by: name) }
      }
      let own = try await ownRequests(identifier, number, "Cancel")
      return try await changing("Cancel", object, claiming: principal) { try await cancel(own, by: name) }
    case .all:
      guard caller.limits != nil || !(caller.credential?.scopes.commandsAll ?? true) else {
        return try await cancelling(principal) { try await api.cancel(.all, by: name) }
      }
      let found = try await everyRequest().filter { caller.commands($0) }
      return try await cancelling(principal) { try await cancel(found, by: name) }
    }
  }

  /// Cancels every request that the caller may cancel. The audit log says if there was none.
  private func cancelling(
    _ claim: String, _ body: @Sendable () async throws -> [Cancellation]
  ) async throws -> [Cancellation] {
    try await changing("Cancel", "*", claiming: claim, body) { $0.isEmpty ? "nothing to cancel" : nil }
  }

  /// Cancels requests one by one. One that has ended in the meantime is passed over.
  private func cancel(_ records: [RequestRecord], by principal: String) async throws -> [Cancellation] {
    var cancelled: [Cancellation] = []
    for record in records {
      do {
        cancelled += try await api.cancel(.identifier(record.identifier, number: record.number), by: principal)
      } catch OperatorError.conflict where records.count > 1 {}
    }
    return cancelled
  }

  /// The unfinished requests of an identifier that the caller has submitted.
  private func ownRequests(
    _ identifier: JobIdentifier, _ number: Int?, _ method: String
  ) async throws -> [RequestRecord] {
    let found = try await api.details(identifier, number: number, choosing: .ran)
    let records = [found.record] + (number == nil ? [found.waiting].compactMap { $0 } : [])
    let unfinished = number == nil ? records.filter { !$0.state.isEnded } : records
    let own = (unfinished.isEmpty ? records : unfinished).filter { caller.commands($0) }
    if own.isEmpty { try await checkCommands(found.record, method) }
    return own
  }

  /// All unfinished requests that the caller's patterns cover.
  private func everyRequest() async throws -> [RequestRecord] {
    let filter = RequestFilter(states: Set(RequestState.allCases.filter { !$0.isEnded }))
    var (found, position): ([RequestRecord], RequestID?) = ([], nil)
    while true {
      let page = try await requests(filter, after: position, limit: 1000)
      guard let last = page.last else { return found }
      found += page
      position = last.id
    }
  }

  func retry(
    _ identifier: JobIdentifier, number: Int?, skipping: SkippedBatch, withNewDefinition: Bool
  ) async throws -> RequestRecord {
    try await check(identifier, number, "Retry")
    var number = number
    if !(caller.credential?.scopes.commandsAll ?? true) {
      let record = try await api.details(identifier, number: number, choosing: .ran).record
      try await checkCommands(record, "Retry")
      number = record.number
    }
    let chosen = [skipping.skips ? "a batch is skipped" : nil, withNewDefinition ? "with the new definition" : nil]
    return try await changing(
      "Retry", "\(identifier)" + (number.map { "#\($0)" } ?? ""),
      detail: chosen.compactMap { $0 }.joined(separator: ", ")
    ) { [number] in
      try await api.retry(
        identifier, number: number, skipping: skipping, withNewDefinition: withNewDefinition)
    }
  }

  func redefine(_ identifier: JobIdentifier, number: Int?) async throws -> RequestRecord {
    try await check(identifier, number, "Redefine")
    return try await changing("Redefine", "\(identifier)" + (number.map { "#\($0)" } ?? "")) {
      try await api.redefine(identifier, number: number)
    }
  }

  func setSpread(_ identifier: JobIdentifier, number: Int?, lanes: Int) async throws -> RequestRecord {
    try await check(identifier, number, "SetSpread")
    return try await changing("SetSpread", "\(identifier)" + (number.map { "#\($0)" } ?? "") + " \(lanes)") {
      try await api.setSpread(identifier, number: number, lanes: lanes)
    }
  }

  func setPriority(_ identifier: JobIdentifier, number: Int?, _ priority: Priority) async throws -> RequestRecord {
    try await check(identifier, number, "SetPriority")
    let object = "\(identifier)" + (number.map { "#\($0)" } ?? "") + " \(priority.name)"
    return try await changing("SetPriority", object) {
      try await api.setPriority(identifier, number: number, priority)
    }
  }

  func shards(_ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int) async throws -> [ShardRecord] {
    try await check(identifier, number, "Shards")
    return try await api.shards(identifier, number: number, after: after, limit: limit)
  }

  func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    try await check(identifier, number, "Explain")
    var explanation = try await api.explain(identifier, number: number)
    if !caller.readsLogs(of: explanation.record) { explanation.record.payload = nil }
    return explanation
  }

  func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace {
    try await check(identifier, number, "Trace")
    return try await api.trace(identifier, number: number)
  }

  // MARK: Hosts

  /// Of what runs on the hosts, only what the caller's patterns cover is named.
  func hostReports() async throws -> [HostReport] {
    try await api.hostReports().map { report in
      var report = report
      report.running.removeAll { !caller.covers($0) }
      return report
    }
  }

  func coordinators() async throws -> [CoordinatorReport] { try await api.coordinators() }

  /// A caller with patterns sees only the transfers of jobs that its patterns cover.
  func transfers(on host: HostName?) async throws -> FleetTransfers {
    var found = try await api.transfers(on: host)
    found.transfers.removeAll { caller.limits != nil && !caller.covers(IdentifierPattern($0.identifier)) }
    return found
  }

  func cancelTransfer(_ key: TransferKey) async throws {
    try await checkUnlimited("CancelTransfer", "\(key)")
    try await changing("CancelTransfer", "\(key)") { try await api.cancelTransfer(key) }
  }

  /// A caller with patterns sees only what is told of jobs that its patterns cover, and counts that.
  func notifications() async throws -> NotificationReports {
    var reports = try await api.notifications()
    guard caller.limits != nil else { return reports }
    func isHidden(_ report: NotificationReport) -> Bool {
      report.facts.identifier.map { !caller.covers(IdentifierPattern($0)) } ?? true
    }
    reports.waiting.removeAll(where: isHidden)
    reports.failed.removeAll(where: isHidden)
    (reports.waitingCount, reports.failedCount) = (reports.waiting.count, reports.failed.count)
    return reports
  }

  func testReceiver(_ name: ReceiverName) async throws -> ReceiverAnswer {
    try await checkUnlimited("TestReceiver", name.rawValue)
    return try await changing("TestReceiver", name.rawValue) { try await api.testReceiver(name) }
  }

  /// A caller with patterns sees only the namespaces that its patterns cover.
  func namespaces() async throws -> NamespaceReports {
    var reports = try await api.namespaces()
    reports.namespaces.removeAll { report in
      guard caller.limits != nil else { return false }
      let prefix = report.namespace.prefix
      return prefix.isEmpty || !caller.covers(IdentifierPattern(trusted: prefix + ".*"))
    }
    return reports
  }

  /// A caller with patterns hears only of the evictions that they cover.
  func standing() async throws -> FleetStanding {
    var standing = try await api.standing()
    standing.evictions.removeAll { !caller.covers($0.pattern) }
    return standing
  }

  func setDraining(_ host: HostName, _ isDraining: Bool) async throws {
    try await checkUnlimited("Drain", host.rawValue)
    try await changing(isDraining ? "Drain" : "Undrain", host.rawValue) {
      try await api.setDraining(host, isDraining)
    }
  }

  func setEvicted(
    _ pattern: IdentifierPattern, from hosts: [HostName], _ isEvicted: Bool
  ) async throws -> [HostName] {
    try await check(pattern, "Evict")
    return try await changing(isEvicted ? "Evict" : "Unevict", pattern.rawValue) {
      try await api.setEvicted(pattern, from: hosts, isEvicted)
    }
  }

  func setPaused(_ isPaused: Bool) async throws {
    try await checkUnlimited(isPaused ? "Pause" : "Resume", "")
    try await changing(isPaused ? "Pause" : "Resume", "") { try await api.setPaused(isPaused) }
  }

  func simulateLaunch(_ identifier: JobIdentifier, number: Int?, on host: HostName?) async throws -> SimulatedLaunch {
    try await check(identifier, number, "SimulateLaunch")
    return try await changing("SimulateLaunch", identifier.rawValue) {
      try await api.simulateLaunch(identifier, number: number, on: host)
    }
  }

  func simulateExpiry(
    _ identifier: JobIdentifier, number: Int?, as reason: ExpiryReason.Kind?
  ) async throws -> SimulatedLaunch {
    try await check(identifier, number, "SimulateExpiry")
    return try await changing("SimulateExpiry", identifier.rawValue) {
      try await api.simulateExpiry(identifier, number: number, as: reason)
    }
  }

  func simulateTransfer(_ key: TransferKey, _ what: TransferSimulation) async throws {
    try await checkUnlimited("SimulateTransfer", "\(key)")
    try await changing("SimulateTransfer", "\(key) \(what.rawValue)") { try await api.simulateTransfer(key, what) }
  }

  func simulateConditions(_ overrides: ConditionOverrides, on host: HostName, lasting: Duration) async throws {
    try await checkUnlimited("SimulateConditions", host.rawValue)
    try await changing("SimulateConditions", host.rawValue) {
      try await api.simulateConditions(overrides, on: host, lasting: lasting)
    }
  }
}
