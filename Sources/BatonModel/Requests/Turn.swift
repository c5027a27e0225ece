/// Where a class of requests stands in the order of starting: of two classes with ready requests, the lower turn starts
/// first. The dispatcher orders its claims by turns, and `baton explain` counts the classes ahead with them.
package struct Turn: Hashable, Sendable, Comparable {
  package var requirementClass: RequirementClass
  /// The priority that counts: that of the class, or a higher one because its first request has waited long
  /// (`Priority.aged`).
  package var priority: Priority
  /// The use of its namespace, of which old use counts less, divided by the weight: of the namespaces of one priority
  /// the one that was served least goes first. The same for all classes where there are no namespaces.
  package var namespaceUse: Double
  /// Whether a person used the definition during the last 24 hours (contract, row 25).
  package var hasRecentUse: Bool
  /// Whether the class has had ready requests for `longestWait` and none of them was started.
  package var hasWaitedLong: Bool
  /// A number that rises each time a class is served. The class with the lowest number was served longest ago, and is
  /// next.
  package var servedAt: Int
  /// Whether the class has reserved a host, because it has waited long.
  package var hasReservation: Bool
  /// Since when its first request waits, on the steady clock. It decides among classes that were served equally long
  /// ago.
  package var since: Timestamp

  /// For this time after a person used a definition, its requests start before those of definitions that no person
  /// used.
  package static let recentUse = Duration.seconds(24 * 3600)
  /// After this wait a definition without recent use counts as one with recent use, so that it is not starved.
  package static let longestWait = Duration.seconds(600)
  /// The store records a use at most this often for each definition, so that not every look at a job is a write.
  package static let useIsKeptEvery = Duration.seconds(300)

  package init(
    _ requirementClass: RequirementClass, priority: Priority? = nil, namespaceUse: Double = 0, hasRecentUse: Bool,
    hasWaitedLong: Bool = false, hasReservation: Bool = false, servedAt: Int,
    since: Timestamp = Timestamp(nanoseconds: 0)
  ) {
    self.namespaceUse = namespaceUse
    (self.requirementClass, self.priority) = (requirementClass, priority ?? requirementClass.priority)
    (self.hasRecentUse, self.hasWaitedLong) = (hasRecentUse, hasWaitedLong)
    (self.hasReservation, self.servedAt, self.since) = (hasReservation, servedAt, since)
  }

  /// Whether the class goes before other classes of its priority and its namespace. Recent use never goes before a
  /// higher priority.
  package var goesFirst: Bool { hasRecentUse || hasWaitedLong || hasReservation }

  /// Whether this class starts before `other`, whichever of them was served last.
  package func outranks(_ other: Turn) -> Bool {
    if priority != other.priority { return priority > other.priority }
    if namespaceUse != other.namespaceUse { return namespaceUse < other.namespaceUse }
    return goesFirst && !other.goesFirst
  }

  package static func < (left: Self, right: Self) -> Bool {
    if left.outranks(right) { return true }
    if right.outranks(left) { return false }
    if left.servedAt != right.servedAt { return left.servedAt < right.servedAt }
    return left.since != right.since ? left.since < right.since : left.requirementClass < right.requirementClass
  }
}

extension Priority {
  /// The priority that counts after a wait: one higher for each whole `step`, at most the highest.
  /// - Parameters:
  ///   - wait: how long the request has been waiting, by the steady clock.
  ///   - step: `nil` if priorities do not rise.
  package func aged(by wait: Duration, step: Duration?) -> Priority {
    guard let step, step > .zero else { return self }
    let steps = (0..<Priority.allCases.count).last { wait >= step * $0 } ?? 0
    return Priority(rawValue: min(rawValue + steps, Priority.userInitiated.rawValue)) ?? self
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
