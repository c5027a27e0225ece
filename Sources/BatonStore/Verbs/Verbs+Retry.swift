package import BatonModel

extension Verbs {
  package func retry(_ id: RequestID, skippingBatch: Bool, at now: Moment) throws -> RequestRecord {
    guard let request = try launched(id) else { throw StoreError(.notFound, "There is no request \(id).") }
    let name = "\(request.identifier) (request \(request.number))"
    guard request.state == .failed else {
      throw StoreError(.refused, "\(name) is \(request.state.rawValue); only a failed request can be retried.")
    }
    let known = try identifier(request.identifier)
    guard known?.liveNumber == nil else {
      throw StoreError(
        .refused, "A later request of \(request.identifier) is live; cancel it or wait for its end, then retry.")
    }
    try reopen(request, at: now)
    if let waiting = known?.waiting { try hold(waiting, now) }
    if skippingBatch { try skipBatch(of: request, at: now) }
    guard let record = try self.request(id) else { throw StoreError(.corrupt, "\(name) is not there any more.") }
    return record
  }

  private func reopen(_ request: LaunchedRequest, at now: Moment) throws {
    try prepare(.keepCompletion).run(request.id.rawValue)
    try prepare(.reopenRequest).run(now.steady, request.id.rawValue, now.date)
    try note("retried", detail: nil, of: request.id.rawValue, at: now)
    let pattern = try knownDefinition(request.requirementClass.definition).pattern
    try count(pattern: pattern, from: .failed, to: .ready)
  }

  /// The identifier has a live request again, which the waiting one now waits for.
  private func hold(_ waiting: IdentifierRow.Waiting, _ at: Moment) throws {
    try prepare(.setReadiness).run(
      RequestState.scheduled.code, Cause.waitsForLiveRequest.rawValue, Timestamp.distantFuture, waiting.id, at.date)
    let pattern = try knownDefinition(waiting.definition).pattern
    try count(pattern: pattern, from: waiting.state, to: .scheduled)
  }

  private func skipBatch(of request: LaunchedRequest, at now: Moment) throws {
    let definition = try knownDefinition(request.requirementClass.definition).definition
    let size = definition.work?.items == nil ? 0 : Int64(definition.work?.batchSize ?? 1)
    let computed = definition.work?.items?.computedCount.map(Int64.init)
    try prepare(.skipBatch).run(request.id.rawValue, size, computed)
    try note("skippedBatch", detail: String(request.batches), of: request.id.rawValue, at: now)
  }
}

extension Query {
  static let reopenRequest = Query(
    """
    UPDATE request SET state = 1, eligible_at = ?1, ended_at = NULL, failures = 0, losses = 0, strikes = 0,
      ready_at = ?3, held_by = NULL
    WHERE id = ?2
    """)
  static let keepCompletion = Query(
    """
    INSERT INTO completion (request, launches, state, reason, ended_at)
    SELECT id, launches, state, reason, ended_at FROM request WHERE id = ?
    """)
  /// Completed units advance by a batch's worth of items, never past their total.
  static let skipBatch = Query(
    """
    INSERT INTO progress (request, batches, completed_units, total_units, reaches_end)
    SELECT r.id, 1, min(?2, coalesce(?3, r.frozen_items, ?2)), NULL, 0 FROM request r WHERE r.id = ?1
    ON CONFLICT (request) DO UPDATE SET batches = batches + 1, completed_units =
      min(completed_units + ?2, coalesce(total_units, ?3, (SELECT frozen_items FROM request WHERE id = ?1),
        completed_units + ?2))
    """)
}
