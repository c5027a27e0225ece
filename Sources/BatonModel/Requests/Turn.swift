/// Where a class of requests stands in the order of starting: of two classes with ready requests, the lower turn starts
/// first. The dispatcher orders its claims by turns, and `baton explain` counts the classes ahead with them.
package struct Turn: Hashable, Sendable, Comparable {
  package var requirementClass: RequirementClass
  /// Whether a person used the definition during the last 24 hours (contract, row 25).
  package var hasRecentUse: Bool
  /// Whether the class has had ready requests for `longestWait` and none of them was started.
  package var hasWaitedLong: Bool
  /// A number that rises each time a class is served. The class with the lowest number was served longest ago, and is
  /// next.
  package var servedAt: Int

  /// For this time after a person used a definition, its requests start before those of definitions that no person
  /// used.
  package static let recentUse = Duration.seconds(24 * 3600)
  /// After this wait a definition without recent use counts as one with recent use, so that it is not starved.
  package static let longestWait = Duration.seconds(600)
  /// The store records a use at most this often for each definition, so that not every look at a job is a write.
  package static let useIsKeptEvery = Duration.seconds(300)

  package init(_ requirementClass: RequirementClass, hasRecentUse: Bool, hasWaitedLong: Bool = false, servedAt: Int) {
    (self.requirementClass, self.servedAt) = (requirementClass, servedAt)
    (self.hasRecentUse, self.hasWaitedLong) = (hasRecentUse, hasWaitedLong)
  }

  /// Whether the class goes before other classes of its priority. Recent use never goes before a higher priority.
  package var goesFirst: Bool { hasRecentUse || hasWaitedLong }

  /// Whether this class starts before `other`, whichever of them was served last.
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
  /// Whether a person used a definition recently enough to give it precedence.
  /// - Parameters:
  ///   - lastUse: when a person last used the definition, on the steady clock; `nil` if no person did.
  ///   - now: the time of the steady clock.
  package static func hasRecentUse(_ lastUse: Timestamp?, at now: Timestamp) -> Bool {
    lastUse.map { now - $0 < Turn.recentUse } ?? false
  }
}
