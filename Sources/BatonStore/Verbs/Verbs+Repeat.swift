internal import BatonModel

extension Verbs {
  /// The first request of a definition with `repeat`, unless one is live or waiting.
  func submitFirst(
    of definition: Definition, as id: DefinitionID, seed: TraceContext, at now: Moment
  ) throws -> SubmissionReceipt? {
    guard definition.repeatEvery != nil, let name = definition.pattern.literal else { return nil }
    let known = try identifier(name)
    guard known?.waiting == nil, known?.liveNumber == nil else { return nil }
    let new = NewRequest(
      identifier: name, definition: try knownDefinition(id), priority: definition.priority, payload: nil,
      earliest: Earliest(definition.allowed(definition.earliestBeginDate), submittedAt: now), principal: "apply",
      trace: seed,
      parentSpanID: nil)
    return try enqueue(new, as: known, at: now).receipt
  }

  /// Submits the next request of a repeating definition when the first launch of `last` starts: in the transaction
  /// that starts it, so that no crash breaks the chain (contract, row 9). It is of the definition that is applied now,
  /// and ends the chain if that no longer repeats.
  func submitNext(after last: Candidate, launchSpan: [UInt8], at now: Moment) throws {
    let pattern = try knownDefinition(last.definition).pattern
    guard let applied = try self.pattern(pattern).definition else { return }
    let definition = try knownDefinition(DefinitionID(applied))
    guard let interval = definition.definition.repeatEvery else { return }
    #if PLANTED_BUGS
      if isPlanted(.breaksChains), last.number > 1 { return }
    #endif
    let known = try identifier(last.identifier)
    let new = NewRequest(
      identifier: last.identifier, definition: definition, priority: definition.definition.priority, payload: nil,
      earliest: Chain.next(from: known?.anchor ?? last.earliest, every: interval, at: now), principal: last.principal,
      trace: last.trace.successor(launchSpan: launchSpan), parentSpanID: nil)
    _ = try enqueue(new, as: known, at: now)
  }

  /// What the next requests of the identifier's chain are counted from.
  func setAnchor(_ anchor: Earliest, of identifier: Int64) throws {
    try prepare(.setAnchor).run(anchor.at, anchor.isDated, identifier)
  }
}

extension Query {
  static let setAnchor = Query("UPDATE identifier SET anchor_at = ?, anchor_is_dated = ? WHERE id = ?")
}

extension TraceContext {
  /// Ids for the next request of a chain, mixed from this one's and the freshly drawn span id of its first launch: the
  /// store itself draws nothing at random.
  func successor(launchSpan: [UInt8]) -> TraceContext {
    var state = launchSpan.reduce(0x9E37_79B9_7F4A_7C15 as UInt64) { $0.mixed(with: UInt64($1)) }
    state = traceID.reduce(state) { $0.mixed(with: UInt64($1)) }
    var bytes: [UInt8] = []
    for index in 0..<3 as Range<UInt64> {
      let word = state.mixed(with: index) | 1  // Ids of zeros only are not valid.
      bytes += (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
    return TraceContext(traceID: Array(bytes[..<16]), spanID: Array(bytes[16...]), isSampled: isSampled)
  }
}

extension UInt64 {
  /// A step of splitmix64 (Steele, Lea, Flood 2014).
  fileprivate func mixed(with value: UInt64) -> UInt64 {
    var word = (self ^ value) &+ 0x9E37_79B9_7F4A_7C15
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
