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
      requirementClass, hasRecentUse: hasRecentUse(requirementClass),
      hasWaitedLong: state.map { now.instant - $0.waitingSince >= Turn.longestWait } ?? false,
      servedAt: state?.servedAt ?? turn)
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
      other.priority > own.requirementClass.priority
        || other.priority == own.requirementClass.priority && !own.goesFirst && turn(of: other).goesFirst
    }
  }
}
