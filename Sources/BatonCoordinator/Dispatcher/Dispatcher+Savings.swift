import BatonModel
import BatonStore

/// Saves what is left of the quotas of namespaces, once in each tick. A request that needs more than what comes free at
/// one moment would otherwise wait for as long as smaller ones of its namespace come.
///
/// Each namespace saves for one class at a time: for the first in the order of turns, so for each in its time. What
/// waits of a lower priority, or of the same one, may then take only what the saver does not need; so the launches that
/// hold the quota become fewer, and when enough of them have ended, the class books a host (`Booking`) or starts. A
/// saving that was in vain is followed by one that is twice as long.
extension Dispatcher {
  /// Gives up the savings that are not wanted any more, and makes new ones.
  mutating func keepSavings(_ reserveAfter: Duration) {
    for (prefix, saving) in ledger.savings.sorted(by: { $0.key < $1.key }) where !isKept(saving, reserveAfter) {
      ledger.savings[prefix] = nil
      if now.steady >= saving.endsAt { ready[saving.requirementClass]?.longWait.savings += 1 }
    }
    guard rules.namespaces.all.contains(where: \.quotas.limitLaunches) else { return }
    savingBudget = min(savingBudget + Self.hostsPerTick, max(Self.hostsPerTick, hosts.count))
    let candidates = ready.keys.filter { wantsSaving($0, reserveAfter) }.map(turn(of:)).sorted()
    for turn in candidates where mayTakeSaving(turn) {
      guard savingBudget >= hosts.count else { return }
      savingBudget -= max(1, hosts.count)
      save(for: turn.requirementClass)
    }
  }

  /// The first request of a class has started, or waits no longer, so nothing is saved for it any more.
  mutating func noteForSaving(_ requirementClass: RequirementClass, hasStarted: Bool, hasMore: Bool) {
    let prefix = prefix(of: requirementClass.definition)
    guard let saving = ledger.savings[prefix], saving.requirementClass == requirementClass else { return }
    let isStillFirst = saving.first.request.map { $0 == ready[requirementClass]?.first.request } ?? !hasStarted
    if hasMore, isStillFirst { return }
    ledger.savings[prefix] = nil
    ready[requirementClass]?.longWait.savings = 0
  }

  func isSavedFor(_ requirementClass: RequirementClass) -> Bool {
    ledger.savings[prefix(of: requirementClass.definition)]?.requirementClass == requirementClass
  }

  private mutating func save(for requirementClass: RequirementClass) {
    guard let definition = definitions[requirementClass.definition], let waiting = ready[requirementClass] else {
      return
    }
    guard hosts.values.contains(where: { couldTake(definition, requirementClass, $0) }) else {
      let pause = min(max(waiting.longWait.savingPause * 2, LongWait.leastPause), LongWait.longestPause)
      ready[requirementClass]?.longWait.savingPause = pause
      ready[requirementClass]?.longWait.savesAt = now.instant + pause
      return
    }
    let patience = Self.unknownDuration * (1 << min(waiting.longWait.savings, 20))
    ledger.savings[prefix(of: requirementClass.definition)] = QuotaSaving(
      requirementClass: requirementClass, pattern: definition.pattern, first: waiting.first,
      endsAt: now.steady + patience)
    ready[requirementClass]?.longWait.savingPause = .zero
    ready[requirementClass]?.longWait.pause = .zero
    ready[requirementClass]?.longWait.looksAt = now.instant
  }

  private func isKept(_ saving: QuotaSaving, _ reserveAfter: Duration) -> Bool {
    guard let waiting = ready[saving.requirementClass], let definition = definitions[saving.requirementClass.definition]
    else { return false }
    let isItsRequest =
      saving.first.request == nil || waiting.first.request == nil || saving.first.request == waiting.first.request
    return isItsRequest && now.steady < saving.endsAt && now.steady - waiting.first.since >= reserveAfter
      && fleetObstacles(for: definition, of: saving.requirementClass).allSatisfy(\.mayBeSaved)
  }

  /// Whether nothing but quotas of its namespace that count launches keeps the first request of the class waiting.
  private func wantsSaving(_ requirementClass: RequirementClass, _ reserveAfter: Duration) -> Bool {
    guard let waiting = ready[requirementClass], now.steady - waiting.first.since >= reserveAfter,
      now.instant >= waiting.longWait.savesAt, !isSavedFor(requirementClass),
      let definition = definitions[requirementClass.definition]
    else { return false }
    let quotas = rules.namespaces.namespace(of: definition.pattern).quotas
    // What is larger than the quota never starts.
    guard NamespaceCounts().room(for: definition.requirements, within: quotas) > 0 else { return false }
    let obstacles = fleetObstacles(for: definition, of: requirementClass)
    return !obstacles.isEmpty && obstacles.allSatisfy(\.mayBeSaved)
  }

  /// A class takes over what is saved for one of a lower priority.
  private func mayTakeSaving(_ turn: Turn) -> Bool {
    guard let saving = ledger.savings[prefix(of: turn.requirementClass.definition)] else { return true }
    return turn.priority > agedPriority(of: saving.requirementClass)
  }

  private func couldTake(
    _ definition: Definition, _ requirementClass: RequirementClass, _ state: HostState
  ) -> Bool {
    state.link == .attached && state.isGranted
      && obstacles(on: state, for: definition, requirementClass).allSatisfy(\.mayClearSoon)
  }
}

extension Obstacle {
  /// Whether the obstacle is a quota of which something comes free when launches end.
  fileprivate var mayBeSaved: Bool { [.namespaceRunning, .namespaceSlots, .namespaceGPUs].contains(kind) }
}
