import BatonModel
import BatonStore

/// The calls that change requests. A caller with the scope `submit` alone changes its own.
extension PermittedAPI {
  private func checkCommands(_ record: RequestRecord, _ method: String) async throws {
    guard !caller.commands(record) else { return }
    throw await refuse(
      method, "\(record.identifier)#\(record.number)",
      .notPermitted(
        "request \(record.number) of '\(record.identifier)' was submitted by \(record.principal.escapedOnOneLine), and "
          + "the credential '\(caller.name)' has no scope 'operate'"), "submitted by another principal")
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
      return try await changing("Cancel", object, claiming: principal) {
        try await cancel(own, by: name)
      } nothing: {
        $0.isEmpty ? "nothing to cancel" : nil
      }
    case .flow(let flow):
      try await checkFlow(flow)
      return try await changing("Cancel", "flow \(flow.rawValue)", claiming: principal) {
        try await api.cancel(selection, by: name)
      } nothing: {
        $0.isEmpty ? "nothing to cancel" : nil
      }
    case .all:
      guard caller.limits != nil || !(caller.credential?.scopes.commandsAll ?? true) else {
        return try await cancelling(principal) { try await api.cancel(.all, by: name) }
      }
      let found = try await everyRequest().filter { caller.commands($0) }
      return try await cancelling(principal) { try await cancel(found, by: name) }
    }
  }

  /// Refuses a flow of which the caller may not cancel every request: a flow is cancelled as a whole.
  private func checkFlow(_ flow: RequestID) async throws {
    guard caller.limits != nil || !(caller.credential?.scopes.commandsAll ?? true) else { return }
    // Flows can grow together, if a new one begins with the waiting request of another one.
    let members = try await api.requests(RequestFilter(flow: flow), after: nil, limit: FlowPlan.largest + 1)
    let object = "flow \(flow.rawValue)"
    guard members.contains(where: { caller.covers($0.identifier) }) else {
      throw await refuse("Cancel", object, .unknownFlow(flow), "outside of the credential's patterns")
    }
    let permitted = members.allSatisfy { caller.covers($0.identifier) && ($0.state.isEnded || caller.commands($0)) }
    guard permitted, members.count <= FlowPlan.largest else {
      throw await refuse(
        "Cancel", object,
        .notPermitted(
          "the flow \(flow.rawValue) has requests that the credential '\(caller.name)' may not cancel; cancel those that "
            + "it may cancel one by one"), "it concerns other jobs too")
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
    let wanted = unfinished.isEmpty ? records : unfinished
    let own = wanted.filter { caller.commands($0) }
    if own.isEmpty { try await checkCommands(wanted[0], method) }
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
}
