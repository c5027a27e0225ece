import BatonModel
import BatonStore
import Logging

extension Coordinator {
  package func namespaces() async throws -> NamespaceReports {
    let stored = try await translating { try await self.store.namespaces() }
    return snapshot().namespaces(stored)
  }

  /// Warns if another living coordinator of the store has other namespaces: each would count and limit by its own list.
  func compareNamespaces() async throws {
    let own = settings.rules.namespaces.digest
    guard store.isShared else { return }
    let others = try await store.coordinators(endedSince: .distantFuture).filter { !$0.isEnded && $0.namespaces != own }
    for other in others {
      logger.warning(
        "coordinator \(other.epoch) has another list of namespaces than this one, so their quotas and the order of starting are not exact: give both the same 'namespaces' and 'limits.useHalfLife' in coordinator.yaml, and start them again"
      )
    }
  }
}

extension FleetSnapshot {
  /// The namespaces of the list, what belongs to none, and what the store still counts for others.
  /// - Parameter stored: what the store has counted.
  func namespaces(_ stored: [String: NamespaceCounts]) -> NamespaceReports {
    let list = dispatcher.rules.namespaces
    var running: [String: [RunningState]] = [:]
    for launch in dispatcher.hosts.values.flatMap(\.launches.values) {
      running[dispatcher.prefix(of: launch.requirementClass.definition), default: []].append(launch)
    }
    let reports = ([Namespace("")] + list.all).map { namespace in
      let launches = running[namespace.prefix] ?? []
      let needs = launches.map { dispatcher.definitions[$0.requirementClass.definition]?.requirements }
      let ran = launches.map { now.steady - $0.startedSteady }
      return NamespaceReport(
        namespace, use: list.isEmpty ? nil : dispatcher.ledger.used(by: namespace.prefix, at: now.steady),
        pending: stored[namespace.prefix]?.pending ?? 0, running: launches.count,
        slots: needs.reduce(0) { $0 + ($1?.slots ?? 1) }, gpus: needs.reduce(0) { $0 + ($1?.gpu?.count ?? 0) },
        usedToday: dispatcher.ledger.usedToday(by: namespace.prefix, running: ran, at: now.steady))
    }
    return NamespaceReports(reports, useHalfLife: list.useHalfLife)
  }

  /// The standing of the namespace of a class; nil if the fleet has no namespaces.
  func standing(of own: Turn) -> Explanation.NamespaceStanding? {
    let (list, ledger) = (dispatcher.rules.namespaces, dispatcher.ledger)
    guard !list.isEmpty else { return nil }
    let prefix = dispatcher.prefix(of: own.requirementClass.definition)
    let ahead = dispatcher.turns.filter { $0.priority == own.priority && $0.namespaceUse < own.namespaceUse }
      .map { dispatcher.prefix(of: $0.requirementClass.definition) }.unique
    let all = ([""] + list.all.map(\.prefix)).reduce(0) { $0 + ledger.used(by: $1, at: now.steady) }
    return Explanation.NamespaceStanding(
      prefix: prefix, weight: list[prefix].weight, use: ledger.used(by: prefix, at: now.steady), useOfAll: all,
      ahead: Array(ahead.prefix(8)))
  }
}
