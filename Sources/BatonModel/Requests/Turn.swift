/// Whose turn it is: of two classes with ready requests, the lower one starts first. The dispatcher orders its claims by
/// it, and `explain` counts with it.
package struct Turn: Hashable, Sendable, Comparable {
  package var requirementClass: RequirementClass
  /// A person used the definition lately (contract, row 25).
  package var hasRecentUse: Bool
  /// The class has ready requests, and none of them was started for `longestWait`.
  package var hasWaitedLong: Bool
  /// Rises with each class that is served: the one that was served longest ago is next.
  package var servedAt: Int

  /// For so long after a person used a definition its requests go before those of definitions that no person used.
  package static let recentUse = Duration.seconds(24 * 3600)
  /// After so long a definition without recent use goes with those that have it, so that it is never starved.
  package static let longestWait = Duration.seconds(600)
  /// A use is written down at most so often for each definition: looking at a job must not be a write each time.
  package static let useIsKeptEvery = Duration.seconds(300)

  package init(_ requirementClass: RequirementClass, hasRecentUse: Bool, hasWaitedLong: Bool = false, servedAt: Int) {
    (self.requirementClass, self.servedAt) = (requirementClass, servedAt)
    (self.hasRecentUse, self.hasWaitedLong) = (hasRecentUse, hasWaitedLong)
  }

  /// Among classes of its priority; recent use never goes before a higher priority.
  package var goesFirst: Bool { hasRecentUse || hasWaitedLong }

  /// True if it starts before `other` whichever of them was served last.
  package func outranks(_ other: Turn) -> Bool {
    let (own, others) = (requirementClass.priority, other.requirementClass.priority)
    return own != others ? own > others : goesFirst && !other.goesFirst
  }

  package static func < (left: Self, right: Self) -> Bool {
    if left.outranks(right) { return true }
    if right.outranks(left) { return false }
    return left.servedAt != right.servedAt
      ? left.servedAt < right.servedAt : left.requirementClass < right.requirementClass
  }
}

extension Policy {
  /// - Parameters:
  ///   - lastUse: when a person used the definition last, on the steady clock; nil if no person did.
  ///   - now: on the steady clock.
  package static func hasRecentUse(_ lastUse: Timestamp?, at now: Timestamp) -> Bool {
    lastUse.map { now - $0 < Turn.recentUse } ?? false
  }
}
