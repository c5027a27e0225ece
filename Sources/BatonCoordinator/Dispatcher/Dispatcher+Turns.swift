package import BatonModel

/// The order among the classes that have ready requests (contract, row 25).
extension Dispatcher {
  /// A person has submitted a job of this definition or looked at it. From now on the definition goes before those
  /// without recent use. The store is told only from time to time.
  package mutating func used(_ pattern: IdentifierPattern) -> [Effect] {
    lastUses[pattern] = now.steady
    if let kept = keptUses[pattern], now.steady - kept < Turn.useIsKeptEvery { return [] }
    keptUses[pattern] = now.steady
    return [.noteUse(pattern, at: now.steady)]
  }

  /// The turn of a class, computed as if the class had a ready request.
  package func turn(of requirementClass: RequirementClass) -> Turn {
    let state = ready[requirementClass]
    return Turn(
      requirementClass, priority: agedPriority(of: requirementClass),
      namespaceUse: ledger.share(of: prefix(of: requirementClass.definition), at: now.steady),
      hasRecentUse: hasRecentUse(requirementClass),
      hasWaitedLong: state.map { now.instant - $0.waitingSince >= Turn.longestWait } ?? false,
      servedAt: state?.servedAt ?? turn, since: state?.first.since ?? now.steady)
  }

  /// The priority that counts for a class: its own, or a higher one if its first request has waited for `ageAfter`.
  ///
  /// A class rises with its first request, because that one starts next; a request behind it rises when it is the
  /// first. So no order among the requests of a class has to be kept or read: however many wait, a claim reads the
  /// first one that it leaves. Only the order of starting changes. Whom a request may ask to give way (`relief`), and
  /// who gives way to it, are decided by its own priority.
  func agedPriority(of requirementClass: RequirementClass) -> Priority {
    guard let first = ready[requirementClass]?.first else { return requirementClass.priority }
    return requirementClass.priority.aged(by: now.steady - first.since, step: rules.ageAfter)
  }

  private func hasRecentUse(_ requirementClass: RequirementClass) -> Bool {
    guard let pattern = definitions[requirementClass.definition]?.pattern else { return false }
    return Policy.hasRecentUse(lastUses[pattern], at: now.steady)
  }

  /// The turns of all classes that have, or may have, ready requests. The first class starts first.
  package var turns: [Turn] { ready.keys.map(turn(of:)).sorted() }

  /// False if classes wait that a new request of this class may not overtake.
  package func mayStartAtOnce(_ requirementClass: RequirementClass) -> Bool {
    guard ready[requirementClass] == nil else { return false }
    let own = turn(of: requirementClass)
    // This is called for each submission, so the turns of other classes are computed only where they matter.
    return !ready.keys.contains { other in
      let priority = agedPriority(of: other)
      if priority != own.priority { return priority > own.priority }
      if own.goesFirst, rules.namespaces.isEmpty { return false }
      return turn(of: other).outranks(own)
    }
  }
}
