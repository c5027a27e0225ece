import BatonCoordinator
import BatonModel

extension NamespaceReports {
  /// A namespace that has used up two of its quotas, one without quotas, and what belongs to none.
  static let example: NamespaceReports = {
    var research = Namespace("com.example.research", owner: PrincipalPattern("ada"), weight: 3)
    (research.quotas.pending, research.quotas.running, research.quotas.slots, research.quotas.gpus) = (100, 8, 12, 2)
    research.quotas.dailyAllowance = .seconds(12 * 3600)
    return NamespaceReports(
      [
        NamespaceReport(Namespace(""), use: 1_800, pending: 1, running: 1, slots: 1, usedToday: .seconds(1_800)),
        NamespaceReport(
          research, use: 36_000, pending: 40, running: 5, slots: 12, gpus: 2, usedToday: .seconds(6 * 3600)),
        NamespaceReport(Namespace("com.example.web"), use: 7_200, usedToday: .seconds(7_200)),
      ], useHalfLife: .seconds(3600))
  }()
}
