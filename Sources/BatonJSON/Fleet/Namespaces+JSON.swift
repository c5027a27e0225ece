package import BatonCoordinator
import BatonModel
import BatonStore

extension NamespaceReports {
  /// The part of all use that a namespace has, from 0 to 1; nil if nothing was used.
  package func share(of report: NamespaceReport) -> Double? {
    let all = namespaces.reduce(0) { $0 + ($1.use ?? 0) }
    return all > 0 ? report.use.map { $0 / all } : nil
  }

  /// The part that the weight of a namespace gives it, if all of them have work.
  package func due(to report: NamespaceReport) -> Double {
    Double(report.namespace.weight) / Double(max(1, namespaces.reduce(0) { $0 + $1.namespace.weight }))
  }
}

extension JSONValue {
  package init(_ report: NamespaceReport, _ reports: NamespaceReports) {
    let (namespace, quotas) = (report.namespace, report.namespace.quotas)
    func amount(_ used: Int, _ limit: Int?) -> JSONValue { ["used": JSONValue(used), "limit": JSONValue(limit)] }
    func seconds(_ duration: Duration) -> Int { Int(duration.components.seconds) }
    self = [
      "prefix": JSONValue(namespace.prefix.isEmpty ? nil : namespace.prefix),
      "owner": JSONValue(namespace.owner?.rawValue), "weight": JSONValue(namespace.weight),
      "useSlotSeconds": JSONValue(report.use.map { Int($0.rounded()) }),
      "sharePercent": JSONValue(reports.share(of: report).map { Int(($0 * 100).rounded()) }),
      "duePercent": JSONValue(Int((reports.due(to: report) * 100).rounded())),
      "halfLifeSeconds": JSONValue(seconds(reports.useHalfLife)),
      "pending": amount(report.pending, quotas.pending), "running": amount(report.running, quotas.running),
      "slots": amount(report.slots, quotas.slots), "gpus": amount(report.gpus, quotas.gpus),
      "todaySeconds": amount(seconds(report.usedToday), quotas.dailyAllowance.map(seconds)),
    ]
  }
}
