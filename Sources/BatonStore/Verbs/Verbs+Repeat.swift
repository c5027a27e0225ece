internal import BatonModel

extension Verbs {
  /// Submits the first request of a definition with `repeat` or `schedule`, unless a request of the identifier is live
  /// or waiting.
  /// - Returns: `nil` if nothing was submitted.
  func submitFirst(
    of definition: Definition, as id: DefinitionID, seed: TraceContext, at now: Moment
  ) throws -> SubmissionReceipt? {
    guard definition.repeats, let name = definition.pattern.literal else { return nil }
    let known = try identifier(name)
    guard known?.waiting == nil, known?.liveNumber == nil else { return nil }
    let first = Earliest(definition.allowed(definition.earliestBeginDate), submittedAt: now)
    let begin = definition.schedule.map { $0.first(for: name, at: now) } ?? first.ofChain(at: now)
    guard let begin else { return nil }
    let new = NewRequest(
      identifier: name, definition: try knownDefinition(id), priority: definition.priority, payload: nil,
      earliest: begin.earliest, principal: "apply", trace: seed, parentSpanID: nil, scheduledAt: begin.scheduledAt)
    return try enqueue(new, as: known, at: now).receipt
  }

  /// Submits the next request of a repeating definition when the first launch of `last` starts. It does so in the
  /// transaction that starts the launch, so that no crash can break the chain (contract, row 9). The next request gets
  /// the definition that is applied now; if that definition does not repeat, the chain ends.
  func submitNext(after last: Candidate, launchSpan: SpanID, at now: Moment) throws {
    let pattern = try knownDefinition(last.definition).pattern
    guard let applied = try self.pattern(pattern).definition else { return }
    let definition = try knownDefinition(DefinitionID(applied))
    let known = try identifier(last.identifier)
    var begin = try nextOfCalendar(after: last, known, definition.definition, at: now)
    if let known, let backfill = known.standing.backfill {
      if let schedule = definition.definition.schedule {
        begin = try nextOfBackfill(after: last, known, backfill, schedule, begin: begin, at: now)
      } else {
        try endBackfill(of: known.id)
      }
    }
    guard let begin else { return }
    let new = NewRequest(
      identifier: last.identifier, definition: definition, priority: definition.definition.priority, payload: nil,
      earliest: begin.earliest, principal: begin.principal ?? last.principal,
      trace: last.trace.successor(launchSpan: launchSpan), parentSpanID: nil, scheduledAt: begin.scheduledAt,
      mark: begin.mark)
    _ = try enqueue(new, as: known, at: now)
  }

  /// The next request of the chain after one that starts now; `nil` if the chain has ended.
  private func nextOfCalendar(
    after last: Candidate, _ known: IdentifierRow?, _ definition: Definition, at now: Moment
  ) throws -> NextOfChain? {
    guard let schedule = definition.schedule else {
      return definition.repeatEvery.map {
        Chain.next(from: known?.anchor ?? last.earliest, every: $0, at: now).ofChain(at: now)
      }
    }
    guard last.mark == .isPart else { return schedule.next(after: known?.anchor, for: last.identifier, at: now) }
    // A request of a backfill is no time of the chain: the chain's next time is still to be submitted.
    guard known?.standing.backfill?.hasChain ?? true else { return nil }
    guard let anchor = known?.anchor, anchor.isDated, anchor.hasCome(at: now) else {
      var next = schedule.first(for: last.identifier, at: now)
      next?.mark = .follows
      return next
    }
    var next = schedule.run(at: anchor, of: last.identifier)
    next.mark = .follows
    return next
  }

  /// Sets the time from which the next requests of the identifier's chain are counted.
  func setAnchor(_ anchor: Earliest, of identifier: Int64) throws {
    try prepare(.setAnchor).run(anchor.at, anchor.isDated, identifier)
  }
}

extension Earliest {
  /// The begin of a request of a chain that has no calendar. The time for which it stands is that of the wall clock.
  func ofChain(at now: Moment) -> NextOfChain {
    NextOfChain(earliest: self, scheduledAt: isDated ? at : now.date(ofSteady: at))
  }
}

extension Query {
  static let setAnchor = Query("UPDATE identifier SET anchor_at = ?, anchor_is_dated = ? WHERE id = ?")
}

extension TraceContext {
  /// The trace of the next request in a chain. Its ids are mixed from this trace id and the span id of the launch,
  /// which was drawn at random, because the store itself draws no random numbers.
  func successor(launchSpan: SpanID) -> TraceContext {
    let seed = [launchSpan.number, traceID.high, traceID.low].reduce(SplitMix64.increment) {
      SplitMix64.first(seed: $0 ^ $1)
    }
    // An id of only zeros is not valid.
    func word(_ index: UInt64) -> UInt64 { SplitMix64.first(seed: seed ^ index) | 1 }
    return TraceContext(traceID: TraceID(high: word(0), low: word(1)), spanID: SpanID(word(2)), isSampled: isSampled)
  }
}
