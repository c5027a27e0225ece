internal import BatonModel

/// A request that is about to become the waiting request of its identifier: from a submission, a poke, or the chain of
/// a repeating definition.
struct NewRequest {
  var identifier: JobIdentifier
  var definition: FrozenDefinition
  var priority: Priority
  var payload: [UInt8]?
  var earliest: Earliest
  var principal: String
  var trace: TraceContext
  var parentSpanID: SpanID?
  /// The priority of the poke that asks for the request; `nil` if no poke does.
  var poke: PokePriority?
  /// How many requests came before this one, each of which was submitted by the end of the one before.
  var followed = 0
  /// The place of the request in its flow; `nil` if it is submitted alone.
  var place: FlowPlace?
  /// The time of the calendar, or of `repeat`, for which the request stands; `nil` if a person or a poke has asked for
  /// it, or the end of another request.
  var scheduledAt: Timestamp?
  var mark = BackfillMark.unrelated

  /// The poke priority of the request after it has replaced `waiting`: the most urgent of the pokes. A submission that
  /// is not a poke removes the mark.
  func mark(over waiting: IdentifierRow.Waiting?) -> PokePriority? {
    poke.map { $0 == .immediate ? .immediate : waiting?.poke ?? $0 }
  }
}

/// What the store knows of an identifier before a new request is added to it.
struct IdentifierRow {
  var id: Int64
  var lastNumber: Int
  var history: LaunchHistory
  /// The time from which the next requests of a repeating definition are counted; `nil` if there is no chain.
  var anchor: Earliest?
  var waiting: Waiting?
  /// The number of the live request; `nil` if there is none.
  var liveNumber: Int?
  /// What a person has said of the schedule.
  var standing = ScheduleStanding()

  /// The waiting request of the identifier.
  struct Waiting {
    var id: Int64
    var number: Int
    var state: RequestState
    var definition: DefinitionID
    var poke: PokePriority?
    var traceID: TraceID
    /// The number of its flow; `nil` if it is in none.
    var flow: Int64?
    /// How many other requests it waits for.
    var waitsFor: Int
    var scheduledAt: Timestamp?
    var mark: BackfillMark
    var hasTransfers: Bool
  }
}

extension Verbs {
  /// The row of the identifier; `nil` if no request of it was ever submitted.
  func identifier(_ name: JobIdentifier) throws -> IdentifierRow? {
    try need(.identifier(name))
    let row = try prepare(.identifier).first(name.rawValue) { row in
      IdentifierRow(
        id: row.int64(0), lastNumber: row.int(1),
        history: LaunchHistory(
          lastFirstLaunch: row.optionalTime(2), noDataInRow: row.int(3),
          usualInterval: row.optionalInt64(6).map { .nanoseconds($0) }),
        anchor: row.optionalTime(4).map { Earliest(at: $0, isDated: row.bool(5)) },
        standing: Self.standing(row, from: 7))
    }
    guard var row else { return nil }
    row.waiting = try waiting(of: row.id)
    row.liveNumber = try prepare(.liveOfIdentifier).first(row.id) { $0.int(0) }
    return row
  }

  private func waiting(of identifier: Int64) throws -> IdentifierRow.Waiting? {
    try prepare(.waitingOfIdentifier).first(identifier) { row in
      IdentifierRow.Waiting(
        id: row.int64(0), number: row.int(1), state: RequestState(code: row.int(2)),
        definition: DefinitionID(row.int64(3)), poke: row.poke(4), traceID: row.traceID(5),
        flow: row.optionalInt64(9), waitsFor: row.int(10),
        scheduledAt: row.optionalTime(6), mark: BackfillMark(code: row.int(7)), hasTransfers: !row.isNull(8))
    }
  }
}

extension Query {
  static let identifier = Query(
    """
    SELECT id, last_number, last_first_launch_at, no_data_in_row, anchor_at, anchor_is_dated, usual_interval,
      paused_at, paused_by, paused_because, backfill
    FROM identifier WHERE name = ?
    """)
  static let waitingOfIdentifier = Query(
    """
    SELECT id, number, state, definition, poke, trace_id, scheduled_at, backfill, files_on, flow, waits_for FROM request
    WHERE identifier = ? AND launches = 0 AND state <= 1 AND head IS NULL
    """)
  static let liveOfIdentifier = Query(
    "SELECT number FROM request WHERE identifier = ? AND launches > 0 AND state <= 2 AND head IS NULL")
}
