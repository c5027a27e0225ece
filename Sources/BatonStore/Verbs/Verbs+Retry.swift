package import BatonModel

extension Verbs {
  package func retry(
    _ id: RequestID, skipping: SkippedBatch, as definition: DefinitionID? = nil, at now: Moment
  ) throws -> RequestRecord {
    guard let request = try launched(id) else { throw StoreError(.notFound, "There is no request \(id).") }
    let name = request.name
    if try makeRetryDue(request, at: now) {
      if definition != nil || skipping != .nothing {
        try change(request, waitingForRetry: skipping, definition, at: now)
      }
      return try kept(request)
    }
    guard request.state == .failed else {
      throw StoreError(
        .refused,
        "\(name) \(request.state.predicate); only a request that failed or waits for its retry can be retried.")
    }
    if let problem = try knownDefinition(definition ?? request.requirementClass.definition).problem {
      throw StoreError(
        .refused,
        """
        The definition that \(name) would run under cannot be run: \(problem). Apply a repaired one, and retry with \
        --with-new-definition, or submit again.
        """)
    }
    let known = try identifier(request.identifier)
    guard known?.liveNumber == nil else {
      throw StoreError(
        .refused, "A later request of \(request.identifier) is live; cancel it or wait for its end, then retry.")
    }
    if request.launches == 0, known?.waiting != nil {
      throw StoreError(
        .refused, "A later request of \(request.identifier) waits, and \(name) was never launched; cancel one of them.")
    }
    if let definition { try adopt(definition, by: request, at: now) }
    let own = try knownDefinition(definition ?? request.requirementClass.definition)
    if skipping != .nothing { try demandBatch(of: request, under: own.definition) }
    if request.isSpread {
      try reopenShards(of: request, own, skipping: skipping, at: now)
    } else {
      try demandNoShard(skipping, of: request)
      try reopen(request, at: now)
      try count(pattern: own.pattern, from: .failed, to: .ready)
      if skipping == .nextBatch { try skipBatch(of: request, under: own, at: now) }
    }
    if let waiting = known?.waiting { try hold(waiting, now) }
    if request.isAwaited { _ = try resumeFlow(from: request.id, at: now) }
    return try kept(request)
  }

  /// Skips the batch of a request that waited for its retry, and that is due now.
  /// - Throws: `.refused` if another definition is asked for, or if the request was divided.
  private func change(
    _ request: LaunchedRequest, waitingForRetry skipping: SkippedBatch, _ definition: DefinitionID?, at now: Moment
  ) throws {
    let name = request.name
    guard definition == nil else {
      throw StoreError(
        .refused,
        """
        \(name) waits for its retry, and has not failed yet: 'baton apply FILE --refreeze' gives the definition to \
        requests that wait; then 'baton retry \(request.identifier)' makes it due.
        """)
    }
    guard !request.isSpread else {
      throw StoreError(
        .refused,
        """
        \(name) has shards that wait for their retries; a batch of a shard can be skipped when the request has \
        failed. Retry it without --skip-batch, or wait for its end.
        """)
    }
    try demandNoShard(skipping, of: request)
    let own = try knownDefinition(request.requirementClass.definition)
    try demandBatch(of: request, under: own.definition)
    try skipBatch(of: request, under: own, at: now)
  }

  private func demandNoShard(_ skipping: SkippedBatch, of request: LaunchedRequest) throws {
    guard case .nextBatchOfShard(let shard) = skipping else { return }
    throw StoreError(.refused, "\(request.name) was not divided, so it has no shard \(shard); leave --shard out.")
  }

  /// - Throws: `.refused` if the request's command would run again as before, because no batch can be skipped.
  private func demandBatch(of request: LaunchedRequest, under definition: Definition) throws {
    guard !definition.hasBatchToSkip(after: request.batches), !request.isSpread else { return }
    throw StoreError(
      .refused,
      """
      \(request.name) has no batch to skip: its command has no 'items', and runs in one piece. Retry it without \
      --skip-batch, or apply a corrected command and retry with --with-new-definition.
      """)
  }

  private func kept(_ request: LaunchedRequest) throws -> RequestRecord {
    guard let record = try self.request(request.id) else {
      throw StoreError(.corrupt, "\(request.name) is not there any more.")
    }
    return record
  }

  /// Makes the failed request ready again, with a new ledger. Its earlier completion is kept for its span.
  private func reopen(_ request: LaunchedRequest, at now: Moment) throws {
    try prepare(.keepCompletion).run(request.id.rawValue)
    if request.hasTransfers { try dropTransfers(of: request.id) }
    try prepare(.reopenRequest).run(now.steady, request.id.rawValue, now.date)
    try note(.retried, detail: nil, of: request.id.rawValue, at: now)
  }

  /// Makes the waiting request wait for the live one: the identifier has a live request again.
  private func hold(_ waiting: IdentifierRow.Waiting, _ at: Moment) throws {
    try prepare(.setReadiness).run(
      RequestState.scheduled.code, Cause.waitsForLiveRequest.rawValue, Timestamp.distantFuture, waiting.id, at.date)
    let pattern = try knownDefinition(waiting.definition).pattern
    try count(pattern: pattern, from: waiting.state, to: .scheduled)
    if waiting.state == .ready, try knownDefinition(waiting.definition).definition.hasKeys {
      try passTurn(of: RequestID(waiting.id), at: at)
    }
  }

  /// The largest number of batches of a request that may be skipped.
  static let maximumSkips = 1000

  /// Whether the definition permits to skip the next batch of a request whose launch ends in this way.
  func maySkipBatch(of request: LaunchedRequest, after ending: Ending, _ definition: Definition) throws -> Bool {
    guard case .failed = ending.outcome, definition.retry.skipBatchAfter != nil,
      definition.hasBatchToSkip(after: request.batches)
    else { return false }
    if let items = definition.work?.items {
      // There is nothing to skip at the end of the items, or before they were read.
      let count = request.shardLength ?? items.computedCount.map(Int64.init) ?? request.frozenItems
      guard let count, request.completedUnits < count else { return false }
    }
    let limit = min(definition.retry.skipLimit ?? RetryRule.usualSkipLimit, Self.maximumSkips)
    return try skips(of: request.id) < limit
  }

  /// How many batches of the request or the shard were skipped.
  private func skips(of request: RequestID) throws -> Int {
    try prepare(.skippedBatches).first(request.rawValue) { Self.batches($0.optionalText(0)).count } ?? 0
  }

  /// Records the next batch as skipped, with its units.
  /// - Parameter length: the number of units of a shard; `nil` for a request that was not divided.
  func skipBatch(
    of request: LaunchedRequest, under definition: FrozenDefinition, length: Int64? = nil, at now: Moment
  ) throws {
    guard try skips(of: request.id) < Self.maximumSkips else {
      throw StoreError(
        .refused,
        "\(request.name) has skipped \(Self.maximumSkips) batches, which is the limit; repair its command.")
    }
    let work = definition.definition.work
    let size = work?.items == nil ? 0 : Int64(work?.batchSize ?? 1)
    let computed = length ?? work?.items?.computedCount.map(Int64.init)
    try prepare(.skipBatch).run(request.id.rawValue, size, computed)
    let place = length == nil ? "\(request.batches)" : "\(request.batches) of shard \(request.shard)"
    try note(.skippedBatch, detail: place, of: request.whole.rawValue, at: now)
    try tellSkip(place, of: request, definition.definition, at: now)
  }

  /// Parses the column `progress.skipped`.
  static func batches(_ text: String?) -> [Int] { text?.split(separator: ",").compactMap { Int($0) } ?? [] }
}

extension Query {
  static let reopenRequest = Query(
    """
    UPDATE request SET state = 1, eligible_at = ?1, ended_at = NULL, ended_steady = NULL, failures = 0,
      barren_failures = 0, losses = 0, strikes = 0, ready_at = ?3, held_by = NULL
    WHERE id = ?2
    """)
  static let keepCompletion = Query(
    """
    INSERT INTO completion (request, launches, state, reason, ended_at)
    SELECT id, launches, state, reason, ended_at FROM request WHERE id = ?
    ON CONFLICT (request, launches) DO NOTHING
    """)
  static let skippedBatches = Query("SELECT skipped FROM progress WHERE request = ?")
  /// Completed units advance by the items of one batch, but not beyond the total; they say where the next batch begins.
  /// `skipped_units` counts how many of them were skipped.
  static let skipBatch = Query(
    """
    INSERT INTO progress (request, batches, completed_units, total_units, reaches_end, skipped, skipped_units)
    SELECT r.id, 1, min(?2, coalesce(?3, r.frozen_items, ?2)), NULL, 0, '0', min(?2, coalesce(?3, r.frozen_items, ?2))
    FROM request r WHERE r.id = ?1
    ON CONFLICT (request) DO UPDATE SET batches = batches + 1, completed_units = \(afterSkip),
      skipped = coalesce(skipped || ',', '') || batches, skipped_units = skipped_units + \(afterSkip) - completed_units
    """)
  private static let afterSkip = """
    min(completed_units + ?2, coalesce(total_units, ?3, (SELECT frozen_items FROM request WHERE id = ?1),
      completed_units + ?2))
    """
}
