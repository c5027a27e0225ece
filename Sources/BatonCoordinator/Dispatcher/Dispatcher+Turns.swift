package import BatonModel

/// Whose turn it is among the classes that have ready requests (contract, row 25).
extension Dispatcher {
  /// A person submitted a job of this definition, or looked at one. It goes first from now on; the store is told only
  /// once in a while.
  package mutating func used(_ pattern: IdentifierPattern) -> [Effect] {
    lastUses[pattern] = now.steady
    if let kept = keptUses[pattern], now.steady - kept < Turn.useIsKeptEvery { return [] }
    keptUses[pattern] = now.steady
    return [.noteUse(pattern, at: now.steady)]
  }

  /// The turn of a class, as if it had a ready request.
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

  /// Every class that has, or may have, ready requests: the first one starts first.
  package var turns: [Turn] { ready.keys.map(turn(of:)).sorted() }

  /// False if others wait that a new request of this class may not overtake.
  package func mayStartAtOnce(_ requirementClass: RequirementClass) -> Bool {
    guard ready[requirementClass] == nil else { return false }
    let own = turn(of: requirementClass)
    // Asked for each submission: the others' turns are looked at only where they could matter.
    return !ready.keys.contains { other in
      other.priority > own.requirementClass.priority
        || other.priority == own.requirementClass.priority && !own.goesFirst && turn(of: other).goesFirst
    }
  }
}
