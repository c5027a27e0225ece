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
    var begin: Earliest? = Earliest(definition.allowed(definition.earliestBeginDate), submittedAt: now)
    if let schedule = definition.schedule { begin = schedule.first(for: name, at: now) }
    guard let begin else { return nil }
    let new = NewRequest(
      identifier: name, definition: try knownDefinition(id), priority: definition.priority, payload: nil,
      earliest: begin, principal: "apply", trace: seed, parentSpanID: nil)
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
    let begin: Earliest? =
      if let schedule = definition.definition.schedule {
        schedule.next(after: known?.anchor, for: last.identifier, at: now)
      } else {
        definition.definition.repeatEvery.map { Chain.next(from: known?.anchor ?? last.earliest, every: $0, at: now) }
      }
    guard let begin else { return }
    let new = NewRequest(
      identifier: last.identifier, definition: definition, priority: definition.definition.priority, payload: nil,
      earliest: begin, principal: last.principal, trace: last.trace.successor(launchSpan: launchSpan), parentSpanID: nil
    )
    _ = try enqueue(new, as: known, at: now)
  }

  /// Sets the time from which the next requests of the identifier's chain are counted.
  func setAnchor(_ anchor: Earliest, of identifier: Int64) throws {
    try prepare(.setAnchor).run(anchor.at, anchor.isDated, identifier)
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
