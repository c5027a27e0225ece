import BatonModel
import BatonStore
import BatonTelemetry

/// The calls that read requests.
extension PermittedAPI {
  /// The details without what the caller may not read.
  private func permitted(_ details: RequestDetails) -> RequestDetails {
    var details = details
    details.flow.removeAll { !caller.covers($0.identifier) }
    // The request that waits may have been submitted by another person than the one that is shown.
    if !caller.readsLogs(of: details.record) { details.record.payload = nil }
    if let waiting = details.waiting, !caller.readsLogs(of: waiting) { details.waiting?.payload = nil }
    return details
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

  func shards(_ identifier: JobIdentifier, number: Int?, after: Int?, limit: Int) async throws -> [ShardRecord] {
    try await check(identifier, number, "Shards")
    return try await api.shards(identifier, number: number, after: after, limit: limit)
  }

  func explain(_ identifier: JobIdentifier, number: Int?) async throws -> Explanation {
    try await check(identifier, number, "Explain")
    return permitted(try await api.explain(identifier, number: number))
  }

  /// The explanation without what the caller may not read.
  func permitted(_ explanation: Explanation) -> Explanation {
    var explanation = explanation
    if !caller.readsLogs(of: explanation.record) { explanation.record.payload = nil }
    if caller.limits != nil {
      explanation.order?.namespace?.ahead.removeAll { !caller.covers(IdentifierPattern(trusted: $0 + ".*")) }
    }
    return explanation
  }

  func trace(_ identifier: JobIdentifier, number: Int?) async throws -> RequestTrace {
    try await check(identifier, number, "Trace")
    return try await api.trace(identifier, number: number)
  }
}
