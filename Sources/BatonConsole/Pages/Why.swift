import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// Why a request does not run: the obstacles on every host, and the one change that frees the most hosts.
struct WhyPage: Sendable {
  /// Hosts with the same obstacles are told together.
  private static let few = 0
  /// The most groups of hosts in the matrix.
  private static let mostGroups = 40

  private let explanation: Explanation
  private let groups: ExplainedGroups?
  private let definition: RequestDefinition?
  private let now: Timestamp

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let (identifier, number) = (try visit.call.identifier, try visit.call.number)
    let (explanation, definition) = try await visit.run { api in
      let explanation = try await api.explain(identifier, number: number, groupingBeyond: Self.few)
      return (explanation, try? await api.definition(of: identifier, number: explanation.record.number))
    }
    let record = explanation.record
    return Page(
      title: "Why \(record.identifier) #\(record.number)", section: .requests,
      topics: RequestParts.topics(record) + [.hosts],
      main: WhyPage(explanation: explanation, groups: explanation.groups, definition: definition, now: visit.now)
        .main(visit))
  }

  private func main(_ visit: Visit) -> HTML {
    let record = explanation.record
    return """
      \(RequestParts.heading(record, "why", buttons: RequestActions.buttons(record, definition, visit)))
      <p class="lead">\(verdict)</p>
      \(advice)\(keeping)\(order)
      \(own)\(changes)\(matrix)
      <p>The same in a terminal: <code>baton explain \(record.name.arguments)</code></p>
      """
  }

  private var verdict: HTML {
    let record = explanation.record
    switch explanation.verdict {
    case .running: return "It runs. What may stop it is listed among the conditions of its host."
    case .ended: return "\(record.standing(at: now).capitalizedFirst)."
    case .impossible:
      return
        "No known host can ever take it, as the fleet is configured now: the obstacles below do not go away by themselves."
    case .waiting:
      if record.state == .scheduled { return "\(record.standing(at: now).capitalizedFirst)." }
      return "It is ready \(record.eligibleAt > now ? "" : Parts.waitingFor(record, now)), and no host can take it now."
    }
  }

  private var advice: HTML {
    guard !explanation.advice.isEmpty else { return "" }
    return
      "<p class=\"advice\"><strong>\(explanation.named(explanation.advice, explanation.lines.first?.host))</strong></p>"
  }

  private var keeping: HTML {
    guard explanation.record.state.isPending, definition?.isApplied == false else { return "" }
    return """
      <p>It keeps the definition under which it was submitted, which is not the one that is applied now. All that stands \
      here concerns the earlier one.</p>
      """
  }

  private var order: HTML {
    var parts: [HTML] = []
    if let position = explanation.position { parts.append("\(position.queueText.capitalizedFirst).") }
    if let order = explanation.order {
      let aged = order.agedPriority.map { ", which counts as \($0.name) because of the wait" } ?? ""
      parts.append("Priority \(explanation.record.priority.name)\(aged); \(order.text(at: now)).")
      if let namespace = order.namespace { parts.append("\(namespace.text.capitalizedFirst).") }
    }
    if let reservation = explanation.reservation {
      parts.append(
        """
        It has waited long, and has reserved \(Parts.host(reservation.host)): room is expected there \
        \(Parts.time(reservation.expectedAt, now)).
        """)
    }
    if let failure = explanation.lastFailure { parts.append("Its last launch failed: \(failure)") }
    guard !parts.isEmpty else { return "" }
    return "<p>\(parts.joined(by: " ")) <a href=\"/queue\">The queue</a></p>"
  }

  /// The obstacles of the request and of the fleet.
  private var own: HTML {
    let lines = explanation.lines.filter { $0.host == nil }
    guard !lines.isEmpty else { return "" }
    return "<section><h2>The request and the fleet</h2><ul class=\"obstacles\">\(lines.map(obstacle))</ul></section>"
  }

  private func obstacle(_ line: Explanation.Line) -> HTML {
    let more = [line.sourceText(at: now), line.endingText(at: now)].compactMap { $0 }.joined(separator: "; ")
    return """
      <li>\(Parts.reason(line.code)) \(line.text)\
      \(!more.isEmpty, "<br><small>\(more)</small>")\
      <br><small>Remedy: \(explanation.named(line.remedy, line.host))</small></li>
      """
  }

  /// Which one change frees how many hosts.
  private var changes: HTML {
    guard let groups, !groups.rows.isEmpty else { return "" }
    let most = max(1, groups.rows.map(\.hosts).max() ?? 1)
    let rows = groups.rows.map { row -> HTML in
      """
      <tr id="c-\(row.code)"><td>\(Parts.reason(row.code))</td>\
      <td>\(Parts.bar(Double(row.hosts) / Double(most), "\(row.hosts) hosts", width: 160)) \(Parts.number(row.hosts))</td>\
      <td class="number">\(Parts.number(row.alone))</td></tr>
      """
    }
    return """
      <section><h2>What would start it</h2>
      <p>Of \(counted(groups.hosts, "host")). The last column says how many hosts could take it if this one obstacle went \
      away.</p>
      \(Parts.table("Obstacles", ["Obstacle", "Hosts with it", "Hosts where it is the only one"], rows))</section>
      """
  }

  // MARK: Hosts by obstacles

  private var matrix: HTML {
    guard let groups, !groups.groups.isEmpty else { return noHosts }
    let codes = groups.rows.map(\.code)
    let lines = Dictionary(grouping: explanation.lines.filter { $0.host != nil }) { $0.host }
    let rows = groups.groups.prefix(Self.mostGroups).enumerated().map { index, group -> HTML in
      let cells = codes.map { code -> HTML in
        group.codes.contains(code) ? "<td class=\"no\">✕ keeps it away</td>" : "<td class=\"yes\">✓ fits</td>"
      }
      return "<tr id=\"g\(index)\"><th scope=\"row\">\(names(group))</th>\(cells)</tr>"
    }
    let details = groups.groups.prefix(Self.mostGroups).enumerated().map { index, group -> HTML in
      let example = group.names.first
      let found = lines[example] ?? []
      guard !found.isEmpty else { return "" }
      return """
        <details id="d\(index)"\(index == 0, " open")><summary>What \(example?.rawValue ?? "") reports\
        \(group.count > 1 ? ", and \(group.count - 1) like it" : "")</summary>\
        <ul class="obstacles">\(found.map(obstacle))</ul></details>
        """
    }
    return """
      <section><h2>Hosts</h2>
      \(Parts.table("Hosts with the same obstacles, the nearest first", ["Hosts"] + codes, rows))
      \(groups.moreGroups > 0, "<p>\(groups.moreGroups) more groups of hosts.</p>")
      <h3>Evidence</h3>\(details)</section>
      """
  }

  private func names(_ group: ExplainedGroups.Group) -> HTML {
    let shown = group.names.prefix(3).map(Parts.host).joined(by: ", ")
    let more = group.count - min(3, group.names.count)
    guard more > 0 else { return shown }
    let rest = group.names.dropFirst(3).map { name -> HTML in "<li>\(Parts.host(name))</li>" }
    return """
      \(counted(group.count, "host")): \(shown)\
      <details><summary>and \(more) more</summary><ul>\(rest)\
      \(group.count > group.names.count, "<li>… \(group.count - group.names.count) more</li>")</ul></details>
      """
  }

  private var noHosts: HTML {
    guard explanation.record.state.isPending, groups?.hosts == 0 else { return "" }
    return Parts.empty(
      """
      <p>The fleet has no host. An operator invites one, and its worker joins with the invitation:</p>
      \(Parts.command("baton fleet invite NAME"))
      """)
  }
}

extension Parts {
  /// For how long a request has been ready.
  static func waitingFor(_ record: RequestRecord, _ now: Timestamp) -> HTML {
    "for \(Parts.age(since: max(record.submittedAt, record.eligibleAt), now))"
  }
}
