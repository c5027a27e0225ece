import ArgumentParser
import BatonCoordinator
import BatonJSON
import BatonModel

struct NamespacesCommand: AsyncParsableCommand, Sendable {
  static let configuration = CommandConfiguration(
    commandName: "namespaces",
    abstract: "Show what each namespace uses of the fleet, and its quotas.",
    discussion: """
      A namespace is a prefix of identifiers with an owner, a weight and quotas; 'namespaces' in coordinator.yaml lists \
      them. Among requests of one priority the namespace goes first that was served least for its weight. USE is in \
      slot-hours, of which old ones count less. SHARE is the part of all use, and after it the part that the weight \
      gives. TODAY is the launch time since midnight UTC. The row (none) has what belongs to no namespace.

      Examples:
        baton namespaces
        baton namespaces -o jsonl | jq -c '[.prefix, .owner]'
      """)

  @OptionGroup var client: ClientOptions
  @OptionGroup var options: OutputOptions

  func run() async throws {
    let console = Console.current
    let reports = try await client.connect { try await $0.namespaces() }
    console.emit(options.output, list: reports.namespaces.map { JSONValue($0, reports) }) { table(reports, console) }
  }
}

private func table(_ reports: NamespaceReports, _ console: Console) -> [String] {
  if reports.namespaces.count <= 1 {
    console.note("the fleet has no namespaces: 'namespaces' in coordinator.yaml lists them")
  }
  return TablePrinter.lines(
    [
      .init("NAMESPACE"), .init("OWNER", rank: 5), .init("WEIGHT", isNumber: true, rank: 4),
      .init("USE", isNumber: true, rank: 2), .init("SHARE", rank: 2), .init("PENDING", isNumber: true),
      .init("RUNNING", isNumber: true), .init("SLOTS", isNumber: true), .init("GPUS", isNumber: true, rank: 3),
      .init("TODAY", rank: 1),
    ], reports.namespaces.map { row($0, reports) }, style: console.style(of: .output), width: console.outputColumns)
}

private func row(_ report: NamespaceReport, _ reports: NamespaceReports) -> [Cell] {
  let (namespace, quotas) = (report.namespace, report.namespace.quotas)
  let due = percent(reports.due(to: report))
  return [
    Cell(namespace.name), Cell(namespace.owner?.rawValue.onOneLine ?? "-"), Cell("\(namespace.weight)"),
    Cell(report.use.map { slotHours($0) } ?? "-"),
    Cell(reports.share(of: report).map { "\(percent($0)) of \(due)" } ?? "- of \(due)"),
    amount(report.pending, quotas.pending), amount(report.running, quotas.running), amount(report.slots, quotas.slots),
    amount(report.gpus, quotas.gpus),
    Cell(
      report.usedToday.inWords + (quotas.dailyAllowance.map { " of \($0.inWords)" } ?? ""),
      quotas.dailyAllowance.map { report.usedToday >= $0 } == true ? .yellow : nil),
  ]
}

/// What is used of a quota, yellow if nothing is left of it.
private func amount(_ used: Int, _ limit: Int?) -> Cell {
  guard let limit else { return Cell("\(used)") }
  return Cell("\(used) of \(limit)", used >= limit ? .yellow : nil)
}

private func percent(_ part: Double) -> String { "\(Int((part * 100).rounded())) %" }

/// Slot-seconds as slot-hours with one decimal place.
private func slotHours(_ slotSeconds: Double) -> String {
  let tenths = Int((slotSeconds / 360).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}
