package import BatonModel

/// Which ended requests an operator deletes.
package struct PruneSelection: Hashable, Sendable {
  /// The most requests that one call deletes.
  package static let most = 10_000

  package var pattern: IdentifierPattern?
  /// Of the states in which requests have ended; empty for all three.
  package var states: Set<RequestState>
  /// Only requests that ended so long ago, on the steady clock.
  package var endedFor: Duration

  package init(pattern: IdentifierPattern? = nil, states: Set<RequestState> = [], endedFor: Duration = .zero) {
    (self.pattern, self.states, self.endedFor) = (pattern, states, endedFor)
  }
}

/// What `prune` has deleted, or would delete.
package struct PruneAnswer: Hashable, Sendable {
  package var counts: [RequestState: Int]
  /// Whether more requests match than one call deletes.
  package var hasMore: Bool

  package init(counts: [RequestState: Int] = [:], hasMore: Bool = false) {
    (self.counts, self.hasMore) = (counts, hasMore)
  }

  package var count: Int { counts.values.reduce(0, +) }
}

extension Verbs {
  /// The ended requests of the selection that can be deleted, those that ended first at the beginning. A request whose
  /// spans were not sent yet is left out, and so is one whose result another one may still get.
  func ended(_ selection: PruneSelection, limit: Int, at now: Moment) throws -> [Prunable.Ended] {
    let prefix = selection.pattern.map { $0.literal?.rawValue ?? String($0.rawValue.dropLast()) }
    let upper = selection.pattern.flatMap { $0.literal == nil ? (prefix ?? "") + "\u{7F}" : prefix }
    let states = selection.states.isEmpty ? nil : selection.states.reduce(0) { $0 | 1 << $1.code }
    return try prepare(.endedOfSelection).all(
      now.steady + (.zero - selection.endedFor), queuesSpans, prefix, upper, states, limit, row: Self.ended)
  }

  /// Deletes requests that were found, unless they were retried meanwhile.
  /// - Returns: how many of each state were deleted.
  func pruneChosen(_ requests: [Prunable.Ended]) throws -> [RequestState: Int] {
    try Dictionary(delete(requests).map { ($0, 1) }, uniquingKeysWith: +)
  }
}

extension Query {
  static let endedOfSelection = Query(
    """
    SELECT r.id, r.definition, r.state FROM request r JOIN identifier i ON i.id = r.identifier
    WHERE \(endedSteady("r")) <= ?1 AND r.ended_at IS NOT NULL AND r.head IS NULL AND (?2 = 0 OR \(hasAllSent)) AND \(isDone)
      AND (?3 IS NULL OR i.name >= ?3 AND i.name <= ?4) AND (?5 IS NULL OR (?5 >> CAST(r.state AS integer)) & 1 = 1)
    ORDER BY \(endedSteady("r")) LIMIT ?6
    """)
}
