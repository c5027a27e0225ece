internal import BatonModel

/// The row of a request that was launched, as the end of its last launch reads it.
struct LaunchedRequest {
  var id: RequestID
  var identifierID: Int64
  var identifier: JobIdentifier
  var number: Int
  var requirementClass: RequirementClass
  var state: RequestState
  var eligibleAt: Timestamp
  var launches: Int
  var ledger: Ledger
  var batches: Int
  var reachesEnd: Bool
  var noDataInRow: Int
  var hasWaitingRequest: Bool
  var isSampled: Bool
  // The columns of the last launch.
  var firstBatch: Int
  var host: Int64
  var startedSteady: Timestamp
  var isExpiring: Bool
  var isSimulated: Bool
  /// The trace id of the request and the span id of its last launch; `nil` if there was no launch.
  var trace: TraceContext?
  /// The request of which this row is a shard; `nil` for a request itself, which is its own shard 0.
  var head: RequestID?
  var shard: Int
  /// Whether the request was divided.
  var isSpread: Bool
  /// How the request's own shard has ended before the others; `nil` if it has not.
  var shardState: RequestState?
  /// Whether the request has transfers.
  var hasTransfers: Bool
  /// The number of units of the shard; `nil` if it has no range, and for a request that was not divided.
  var shardLength: Int64?
  /// How many items were frozen; `nil` if they were not read yet, or need not be.
  var frozenItems: Int64?
  /// How many units the batches of the request or the shard had, those of skipped ones included.
  var completedUnits: Int64
  /// Whether other requests wait for the end of this one.
  var isAwaited: Bool

  /// The request as people know it.
  var whole: RequestID { head ?? id }
}

extension Verbs {
  /// Reads the request; `nil` if it is not kept.
  func launched(_ id: RequestID) throws -> LaunchedRequest? {
    try need(.identifierOf(id))
    return try prepare(.launchedRequest).first(id.rawValue) { row in
      LaunchedRequest(
        id: id, identifierID: row.int64(0), identifier: JobIdentifier(trusted: row.text(1)), number: row.int(2),
        requirementClass: RequirementClass(
          definition: DefinitionID(row.int64(3)), priority: Priority(code: row.int(4))),
        state: RequestState(code: row.int(5)), eligibleAt: row.time(6), launches: row.int(7),
        ledger: Ledger(
          failures: row.int(8), barrenFailures: row.int(30), losses: row.int(9), strikes: row.int(10),
          cancelledBy: row.optionalText(11)),
        batches: row.int(12), reachesEnd: row.bool(13), noDataInRow: row.int(14), hasWaitingRequest: row.bool(15),
        isSampled: row.bool(21), firstBatch: row.int(16), host: row.int64(17), startedSteady: row.time(18),
        isExpiring: row.bool(19),
        isSimulated: row.bool(20), trace: row.isNull(23) ? nil : row.trace(22),
        head: row.optionalInt64(25).map(RequestID.init), shard: row.int(26), isSpread: !row.isNull(27),
        shardState: row.optionalInt64(28).map { RequestState(code: Int($0)) }, hasTransfers: !row.isNull(29),
        shardLength: row.optionalInt64(31), frozenItems: row.optionalInt64(32), completedUnits: row.int64(33),
        isAwaited: row.bool(34))
    }
  }
}

extension LaunchedRequest {
  /// The batches that the last launch committed.
  var committedBatches: Int { batches - firstBatch }

  /// Records the end of the last launch in the ledger, and returns what becomes of the request. A simulated launch does
  /// not count towards quarantine.
  /// - Parameter maySkip: whether there is a batch that may be skipped.
  mutating func end(
    _ ending: Ending, retry: RetryRule, losses: LossRule, countsAsLoss: Bool, maySkip: Bool
  ) -> Ledger.Verdict {
    var judged = ending.outcome
    if isSimulated, case .expired(let reason) = judged, reason.isStrike {
      judged = .expired(.simulated(as: reason.kind))
    }
    return ledger.end(
      judged, committedBatches: committedBatches, reachedEnd: reachesEnd, retry: retry, losses: losses,
      countsAsLoss: countsAsLoss && !isSimulated,
      failure: FailureKind(rawValue: ending.storedErrorType(judged) ?? FailureKind.other.rawValue), of: id,
      maySkip: maySkip)
  }
}

extension Ending {
  /// The ending, with the outcome changed to a failure if a refresh finished but reported that it failed (contract, row
  /// 42).
  var judgedByResult: Ending {
    guard result == .failed, outcome == .finished else { return self }
    var ending = self
    ending.outcome = .failed("the refresh reported that it failed")
    return ending
  }

  /// The outcome that is recorded for the launch. A launch that did all its work has finished, whatever exit status a
  /// stop signal caused; only a lost launch stays lost.
  func outcomeKept(reachedEnd: Bool) -> LaunchOutcome { reachedEnd && outcome != .lost ? .finished : outcome }
}

extension Ending {
  /// The error type that is recorded for a failed launch. It is `_OTHER` if the type is not known, as the semantic
  /// conventions of OpenTelemetry prescribe (https://opentelemetry.io/docs/specs/semconv/registry/attributes/error/).
  /// `nil` if the launch did not fail.
  func storedErrorType(_ outcome: LaunchOutcome) -> String? {
    switch outcome {
    case .failed: errorType?.bounded(toBytes: 255) ?? (result == .failed ? "refreshFailed" : "_OTHER")
    case .lost: "lost"
    case .finished, .expired: nil
    }
  }
}

extension Query {
  /// If the request has no progress or no launch, those columns are NULL and are read as 0.
  static let launchedRequest = Query(
    """
    SELECT r.identifier, i.name, r.number, r.definition, r.priority, r.state, r.eligible_at, r.launches,
      r.failures, r.losses, r.strikes, r.cancelled_by, p.batches, p.reaches_end,
      i.no_data_in_row,
      (SELECT w.id FROM request w WHERE w.identifier = r.identifier AND w.launches = 0 AND w.state <= 1
        AND w.head IS NULL) IS NOT NULL,
      l.first_batch, r.host, l.started_steady, l.expiring_reason IS NOT NULL, l.is_simulated,
      r.is_sampled, r.trace_id, l.span_id, r.is_sampled, r.head, r.shard, r.first_unit, r.shard_state,
      r.files_on, r.barren_failures, r.end_unit - r.first_unit, r.frozen_items, p.completed_units,
      r.is_awaited
    FROM request r JOIN identifier i ON i.id = r.identifier LEFT JOIN progress p ON p.request = r.id
      LEFT JOIN launch l ON l.request = r.id AND l.number = r.launches
    WHERE r.id = ?
    """)
}
