import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel

extension Console {
  var hostRoutes: [Route] {
    [
      page("/hosts", "FindHosts", query: ["name", "state", "condition", "label", "after"], HostsPage.show),
      page("/hosts/{host}", "FindHosts", HostDetails.show),
    ] + HostActions.all.flatMap(action)
  }
}

/// The page with all hosts, 100 at a time.
enum HostsPage {
  private static let size = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let query = visit.query.withoutEmptyValues
    let filter = try HostFilter(query)
    let after = try query.text("after").map { text throws(HTTPFailure) in try Call.host(text) }
    let (found, summary) = try await visit.run { api in
      let found = try await api.hosts(filter, after: after, limit: size)
      if let summary = found.summary { return (found, summary) }
      // Only the first page counts.
      return (found, try await api.hosts(filter, after: nil, limit: 1).summary ?? HostSummary())
    }
    let isFiltered = filter != HostFilter()
    let list = found.hosts.isEmpty ? nothing(isFiltered, after) : table(found, filter, visit)
    let (states, form) = (strip(summary, filter, isFiltered), try filters(query))
    return Page(
      title: "Hosts", section: .hosts, topics: [.hosts],
      main: """
        <h1>Hosts</h1>
        \(summary.total == 0 && !isFiltered ? "" : states + form)
        \(list)
        """)
  }

  private static func nothing(_ isFiltered: Bool, _ after: HostName?) -> HTML {
    if isFiltered || after != nil {
      return Parts.empty("<p>No host matches. <a href=\"\(Link("hosts"))\">Show all hosts</a></p>")
    }
    return Parts.empty(
      """
      <p>No host has connected yet. Start a worker on each machine that shall work:</p>
      \(Parts.command("baton-worker --name NAME --data DIR"))
      <p>A worker on another machine joins with an invitation, which this command makes:</p>
      \(Parts.command("baton host invite NAME"))
      """)
  }

  // MARK: Numbers

  private static func strip(_ summary: HostSummary, _ filter: HostFilter, _ isFiltered: Bool) -> HTML {
    let states = HostReport.State.allCases.compactMap { state -> HTML? in
      summary.states[state].map { count in
        """
        <li><a href="\(link(filter, state: state))"><strong>\(Parts.number(count))</strong> \
        \(Parts.state(state))</a></li>
        """
      }
    }
    let conditions = HostFilter.Condition.allCases.compactMap { condition -> HTML? in
      summary.conditions[condition].map { count in
        """
        <li><a href="\(link(filter, condition: condition))"><strong>\(Parts.number(count))</strong> \(condition.words)\
        </a></li>
        """
      }
    }
    let part = summary.slots == 0 ? 0 : Double(summary.usedSlots) / Double(summary.slots)
    let words = "\(Parts.number(summary.usedSlots)) of \(Parts.number(summary.slots)) slots in use"
    return """
      <ul class="strip" aria-label="\(isFiltered ? "The hosts that match" : "All hosts")">
      <li><strong>\(Parts.number(summary.total))</strong> \(summary.total == 1 ? "host" : "hosts")\
      \(isFiltered ? " of those asked for" : "")</li>
      \(states)
      <li>\(Parts.bar(part, words)) \(words)</li>
      \(conditions)
      </ul>
      """
  }

  /// The list with another filter in place of the present one of the same kind.
  private static func link(
    _ filter: HostFilter, state: HostReport.State? = nil, condition: HostFilter.Condition? = nil
  ) -> Link {
    var filter = filter
    if let state { filter.states = [state] }
    if let condition { filter.conditions.insert(condition) }
    return Link("hosts", query: parameters(filter))
  }

  private static func parameters(_ filter: HostFilter) -> [(String, String?)] {
    [("name", filter.pattern?.rawValue)] + filter.states.map(\.rawValue).sorted().map { ("state", $0) }
      + filter.conditions.map(\.rawValue).sorted().map { ("condition", $0) } + filter.labels.map { ("label", $0.text) }
  }

  private static func filters(_ query: Query) throws -> HTML {
    let states = HostReport.State.allCases.map { ($0.rawValue, $0.words) }
    let conditions = HostFilter.Condition.allCases.map { ($0.rawValue, $0.words) }
    let (state, condition) = (query.list("state").first, query.list("condition").first)
    return """
      <form class="filters" action="/hosts">
      <label>Name <input name="name" value="\(try query.text("name") ?? "")" placeholder="lab-*" maxlength="63"></label>
      \(Fields.select("State", "state", states, state, none: "any"))
      \(Fields.select("Condition", "condition", conditions, condition, none: "any"))
      <label>Label <input name="label" value="\(query.list("label").first ?? "")" placeholder="site=home" \
      maxlength="200"></label>
      <p class="buttons"><button>Filter</button> <a class="button" href="/hosts">Clear</a></p>
      </form>
      """
  }

  // MARK: The list

  private static func table(_ found: HostPage, _ filter: HostFilter, _ visit: Visit) -> HTML {
    let acts = visit.may("Drain") || visit.may("Evict")
    let rows = found.hosts.enumerated().map { row($0.element, $0.offset, acts, visit) }
    let next = found.hosts.last.flatMap { last in
      found.hasMore ? Link("hosts", query: parameters(filter) + [("after", last.name.rawValue)]) : nil
    }
    return Parts.table(
      "Hosts",
      ["Host", "State", "Slots in use", "Conditions", "Running", "Version", "Last seen"]
        + (acts ? ["Actions"] : []), rows) + Fields.pages(next: next, "hosts")
  }

  private static func row(_ host: HostReport, _ index: Int, _ acts: Bool, _ visit: Visit) -> HTML {
    let actions: HTML = acts ? "<td class=\"actions\">\(HostActions.buttons(host, visit, isShort: true))</td>" : ""
    return """
      <tr id="host-\(index)"><th scope="row">\(Parts.host(host.name))</th><td>\(Parts.state(host.state))</td>\
      <td>\(slots(host))</td><td>\(HostWords.conditions(host))</td><td>\(running(host, most: 2))</td>\
      <td>\(host.version)</td><td>\(seen(host, visit.now))</td>\(actions)</tr>
      """
  }

  static func slots(_ host: HostReport) -> HTML {
    let (used, slots) = (host.usedSlots, host.capabilities.slots)
    let part = slots == 0 ? 0 : Double(used) / Double(slots)
    return "\(Parts.bar(part, "\(used) of \(slots) slots in use", width: 60)) \(used)/\(slots)"
  }

  static func running(_ host: HostReport, most: Int) -> HTML {
    guard !host.running.isEmpty else { return "–" }
    let shown = host.running.prefix(most).map { identifier -> HTML in
      "<a class=\"name\" href=\"\(Link("requests", identifier.rawValue))\">\(identifier.rawValue)</a>"
    }
    let more = host.running.count - shown.count
    let all = Link("requests", query: [("host", host.name.rawValue), ("state", "running")])
    let rest: HTML = more > 0 ? " and <a href=\"\(all)\">\(more) more</a>" : ""
    return shown.joined(by: ", ") + rest
  }

  static func seen(_ host: HostReport, _ now: Timestamp) -> HTML {
    host.lastSeenAt.map { Parts.time($0, now) } ?? "never"
  }
}
