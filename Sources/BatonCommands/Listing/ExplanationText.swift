import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The text of `baton explain`: the verdict, the obstacles of the request and of the fleet, then the obstacles of each
/// host, and at the end the change that would start the request. Of a large fleet, hosts with the same obstacles stand
/// together, below a table of the obstacles.
struct ExplanationText {
  /// The width in columns where no terminal says how wide it is.
  private static let usualColumns = 100
  /// The most hosts that are told one by one if nothing is said about it: about as many as fit on a screen.
  static let few = 8

  private let explanation: Explanation
  /// Every known host by its name.
  private let hosts: [HostName: HostReport]
  /// The obstacles by host. The obstacles of the request and of the fleet stand under `nil`.
  private let obstacles: [HostName?: [Explanation.Line]]
  /// Every known host, and every host that only an obstacle names. Hosts without an obstacle come first, then the
  /// others in the order of the explanation, in which the hosts that are nearest to taking the request come first.
  private let names: [HostName]
  private let style: Style
  private let width: Int
  private let item: ObstacleText
  /// `nil` if each host is told by itself.
  private let summary: ObstacleSummary?

  /// - Parameter each: whether each host is told by itself, however many there are.
  init(_ explanation: Explanation, _ hosts: [HostReport], each: Bool = false, _ console: Console) {
    self.explanation = explanation
    self.hosts = Dictionary(hosts.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    obstacles = Dictionary(grouping: explanation.lines, by: \.host)
    let free = hosts.map(\.name).filter { [obstacles] in obstacles[$0] == nil }
    names = free + explanation.lines.compactMap(\.host).unique
    style = console.style(of: .output)
    width = max(40, console.outputColumns ?? Self.usualColumns)
    item = ObstacleText(explanation, style: style, width: width, now: console.environment.now())
    summary =
      explanation.groups.map { ObstacleSummary($0) }
      ?? (each || names.count <= Self.few ? nil : ObstacleSummary(explanation.lines, free: free))
  }

  var lines: [String] {
    var lines = verdict
    let sections = summary.map { [table($0)] + $0.groups.map(section) + more($0) } ?? names.map(section)
    for section in [section("the request", own(.request)), section("the fleet", own(.fleet))] + sections
    where !section.isEmpty {
      lines += [""] + section
    }
    return advice.isEmpty ? lines : lines + [""] + advice.map(style.bold)
  }

  private var verdict: [String] {
    [style.bold("\(explanation.record.name):") + " " + sentence] + lastFailure
      + (explanation.position.map { [$0.queueText] } ?? []) + order + namespace + reservation
  }

  /// Why the last launch failed.
  private var lastFailure: [String] {
    explanation.lastFailure.map { "its last launch failed: \($0)".wrapped(to: width) } ?? []
  }

  /// Why the request goes before or after the requests of other definitions.
  private var order: [String] {
    guard let order = explanation.order else { return [] }
    let aged = order.agedPriority.map { ", which counts as \($0.name) because of the wait" } ?? ""
    return "priority \(explanation.record.priority.name)\(aged); \(order.text(at: item.now))".wrapped(to: width)
  }

  /// How its namespace stands among the others.
  private var namespace: [String] {
    guard let standing = explanation.order?.namespace else { return [] }
    return standing.text.wrapped(to: width)
  }

  /// What the request has reserved.
  private var reservation: [String] {
    guard let reservation = explanation.reservation else { return [] }
    let text =
      "it has waited long, and has reserved \(reservation.host.rawValue.onOneLine): "
      + "room is expected there \(reservation.expectedAt.dated(from: item.now))"
    return text.wrapped(to: width)
  }

  /// The verdict as a sentence. What the request waits for is left out, because the sections below name it.
  private var sentence: String {
    let record = explanation.record
    switch (explanation.verdict, record.state) {
    case (.impossible, _): return "\(record.state.rawValue); no known host can ever take it as the fleet is configured"
    case (.waiting, .scheduled):
      let isDated = record.eligibleAt != .distantFuture
      return "scheduled" + (isDated ? ", eligible \(record.eligibleAt.dated(from: item.now))" : "")
    case (.waiting, _), (.running, _), (.ended, _): return record.standing(at: item.now)
    }
  }

  /// The one change that would start the request, with placeholders replaced by the names of the request and the host.
  private var advice: [String] {
    let host = names.first { explanation.advice.contains("on \($0.rawValue): ") }
    return explanation.named(explanation.advice, host).onOneLine.wrapped(to: width)
  }

  private func own(_ subject: Obstacle.Subject) -> [Explanation.Line] {
    (obstacles[nil] ?? []).filter { line in
      (Obstacle.Kind(rawValue: line.code)?.row.subject == .fleet) == (subject == .fleet)
    }
  }

  private func section(_ heading: String, _ obstacles: [Explanation.Line]) -> [String] {
    obstacles.isEmpty ? [] : [style.bold(heading)] + obstacles.flatMap(item.lines)
  }

  // MARK: Many hosts

  /// Which obstacle keeps the request off how many hosts.
  private func table(_ summary: ObstacleSummary) -> [String] {
    var printer = TablePrinter(
      [.init("OBSTACLE"), .init("HOSTS", isNumber: true), .init("THE ONLY ONE ON", isNumber: true)],
      style: style, width: width)
    return printer.page(summary.rows.map { [Cell($0.code), Cell(String($0.hosts)), Cell(String($0.alone))] })
  }

  /// The hosts with the same obstacles, with those of the first host.
  private func section(_ group: ObstacleSummary.Group) -> [String] {
    guard group.count > 1, let example = group.hosts.first else { return group.hosts.flatMap(section) }
    let lines = obstacles[example] ?? []
    let heading = style.bold(group.heading) + (lines.isEmpty ? "" : "; on \(example.rawValue.onOneLine):")
    return [heading] + (lines.isEmpty ? ["  these hosts have no obstacle"] : lines.flatMap(item.lines))
  }

  /// How many groups are left out.
  private func more(_ summary: ObstacleSummary) -> [[String]] {
    summary.moreGroups == 0
      ? [] : [["\(counted(summary.moreGroups, "more group")) of hosts with other obstacles; --each tells every host"]]
  }

  // MARK: Hosts

  private func section(_ name: HostName) -> [String] {
    let obstacles = obstacles[name] ?? []
    let report = hosts[name]
    let heading = style.bold(name.rawValue.onOneLine) + (report.map { ": \(standing($0))" } ?? "")
    return [heading] + (report.map(lastReport) ?? [])
      + (obstacles.isEmpty ? ["  this host has no obstacle"] : obstacles.flatMap(item.lines))
  }

  private func standing(_ host: HostReport) -> String {
    let age = host.lastSeenAt.map { $0.relative(to: item.now) }.map { $0 == "now" ? "just now" : $0 }
    return style.paint(host.state.rawValue, host.state.colour)
      + (age.map { host.state == .gone ? ", last heard of \($0)" : ", heard of \($0)" } ?? "")
  }

  /// The last report of a host that is gone; empty for other hosts.
  private func lastReport(_ host: HostReport) -> [String] {
    guard host.state == .gone else { return [] }
    let isKnown = host.capabilities.slots > 0
    let words = isKnown ? host.conditions.facts.map { "\($0.name) \($0.value)" }.joined(separator: ", ") : "none"
    return item.block(ObstacleText.lastReport, words)
  }
}
