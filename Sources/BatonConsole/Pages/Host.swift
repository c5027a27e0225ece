import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// The page of one host: what it said of itself, its last day, and what its owner permits.
enum HostDetails {
  /// How much of the history is shown.
  private static let day = Duration.seconds(86_400)
  /// The most changes, and the most launches, that are shown.
  private static let mostRows = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let host = try await visit.host()
    let since = visit.now + (.zero - day)
    // Who may not read these sees the rest of the page.
    let history = try await visit.ifPermitted("HostHistory") { api in
      try await api.history(of: host.name, since: since, limit: mostRows)
    }
    let standing = try await visit.ifPermitted("Standing") { try await $0.standing() }
    return Page(
      title: host.name.rawValue, section: .hosts, topics: [.host(host.name)],
      main: """
        <p class="crumbs"><a href="/hosts">Hosts</a></p>
        <div class="heading"><h1>\(host.name.rawValue) \(Parts.state(host.state))</h1>
        <p class="buttons">\(HostActions.buttons(host, visit, isShort: false))</p></div>
        \(gone(host, visit.now))
        \(facts(host, visit.now))
        \(conditions(host, visit))
        \(history.map { self.history($0, of: host, since, visit.now) })
        \(standing.map { evictions($0, host, visit) })
        \(owner(host))
        """)
  }

  private static func gone(_ host: HostReport, _ now: Timestamp) -> HTML {
    guard host.state == .gone else { return "" }
    let heard: HTML = host.lastSeenAt.map { "The coordinator heard of it last \(Parts.time($0, now))." } ?? ""
    return """
      <p class="notice">This host holds no lease: what ran there goes on elsewhere. \(heard) What follows is its last
      word.
      Start its worker again, or, if it never comes back, forget it.</p>
      """
  }

  private static func facts(_ host: HostReport, _ now: Timestamp) -> HTML {
    Parts.facts([
      ("Slots in use", HostsPage.slots(host)), ("Running", HostsPage.running(host, most: 10)),
      ("Version", "\(host.version)"), ("Last seen", HostsPage.seen(host, now)),
      (
        "Served by",
        host.coordinator.map { number in
          let age: HTML = host.age.map { ", as of \($0.inWords) ago" } ?? ""
          return "coordinator \(number)\(age)"
        } ?? ""
      ),
    ])
  }

  // MARK: Conditions

  private static func conditions(_ host: HostReport, _ visit: Visit) -> HTML {
    let rows = host.conditions.facts.enumerated().map { index, fact -> HTML in
      let age: HTML = fact.age.map { Parts.age(since: visit.now + (.zero - $0), visit.now) } ?? "–"
      let source: HTML =
        fact.isSimulated ? "<strong>\(fact.source)</strong>" : "\(fact.source)"
      return """
        <tr id="condition-\(index)"><th scope="row">\(fact.name)</th><td>\(fact.value)</td><td>\(age)</td>\
        <td>\(source)</td><td>\(fact.raw.isEmpty ? "–" : fact.raw)</td></tr>
        """
    }
    let link = Parts.link(of: host.name).appending("simulate").with([("end", "true")])
    let end =
      host.conditions.simulated.isEmpty ? "" : visit.button("End the simulation", link, "SimulateConditions")
    return """
      <h2>Conditions</h2>
      \(Parts.table("Conditions", ["Condition", "Value", "For", "Source", "What it read"], rows))
      \(end)
      """
  }

  // MARK: The last day

  private static func history(
    _ history: HostHistory, of host: HostReport, _ since: Timestamp, _ now: Timestamp
  ) -> HTML {
    let lanes = HostLanes(history, of: host.conditions, from: since, to: now)
    let isCut = history.conditions.count == mostRows || history.launches.count == mostRows
    let cut: HTML =
      isCut
      ? "<p class=\"quiet\">Only the newest \(mostRows) changes and launches: <code>baton hosts \(host.name.rawValue) "
        + "--history</code> shows all.</p>" : ""
    return """
      <h2>Last 24 hours</h2>
      \(lanes.picture)
      \(cut)
      <details id="history"><summary>As tables: \(counted(history.conditions.count, "change")) of conditions, \
      \(counted(history.launches.count, "launch", plural: "launches"))</summary>
      \(changes(history, now))
      \(launches(history, now))
      </details>
      """
  }

  private static func changes(_ history: HostHistory, _ now: Timestamp) -> HTML {
    guard !history.conditions.isEmpty else { return "<p>No condition has changed.</p>" }
    let rows = history.conditions.map { change -> HTML in
      """
      <tr id="change-\(change.number)"><td>\(Parts.time(change.at, now))</td><th scope="row">\(change.condition)</th>\
      <td>\(change.value ?? "unknown")</td><td>\(change.source)</td>\
      <td>\(change.raw.isEmpty ? "–" : change.raw)</td></tr>
      """
    }
    return Parts.table(
      "Changes of conditions in 24 hours", ["At", "Condition", "Value", "Source", "What it read"], rows)
  }

  private static func launches(_ history: HostHistory, _ now: Timestamp) -> HTML {
    guard !history.launches.isEmpty else { return "<p>Nothing ran for a second or more.</p>" }
    let rows = history.launches.map { launch -> HTML in
      let time = ((launch.endedAt ?? now) - launch.startedAt).magnitude.inWords
      let shard: HTML = launch.shard > 0 ? ", shard \(launch.shard)" : ""
      return """
        <tr id="launch-\(launch.request.rawValue)-\(launch.launch)"><td>\(Parts.time(launch.startedAt, now))</td>\
        <td class="number">\(time)</td><td>\(Parts.request(launch.identifier, launch.number))\(shard)</td>\
        <td class="number">\(launch.launch)</td><td>\(outcome(launch))</td>\
        <td>\(launch.reason?.plainLines.last.map { String($0.prefix(200)) } ?? "–")</td></tr>
        """
    }
    return Parts.table(
      "Launches in 24 hours, without those of less than a second",
      ["Started", "For", "Request", "Launch", "Outcome", "Reason"], rows)
  }

  private static func outcome(_ launch: HostLaunch) -> HTML {
    guard let outcome = launch.outcome else { return "running" }
    return Parts.reason(outcome.rawValue)
  }

  // MARK: What people have said

  private static func evictions(_ standing: FleetStanding, _ host: HostReport, _ visit: Visit) -> HTML {
    let here = standing.evictions.filter { $0.host == host.name }
    let rows = here.enumerated().map { index, eviction -> HTML in
      let link = Parts.link(of: eviction.pattern).appending("allow").with([("host", host.name.rawValue)])
      return """
        <tr id="eviction-\(index)"><th scope="row">\(Parts.definition(eviction.pattern))</th>\
        <td class="actions">\(visit.button("Let it run here again", link, "Evict"))</td></tr>
        """
    }
    let table =
      rows.isEmpty ? "<p>Nothing is kept away from this host.</p>" : Parts.table("Evictions", ["Job", "Actions"], rows)
    return "<h2>Evictions</h2>\n\(table)"
  }

  private static func owner(_ host: HostReport) -> HTML {
    let able = host.capabilities
    let kinds = JobKind.allCases.filter(able.kinds.contains).map(\.rawValue)
    return """
      <h2>What its owner permits</h2>
      \(Parts.facts([
        ("Identifiers", "\(HostWords.list(able.permittedIdentifiers.map(\.rawValue), none: "all"))"),
        ("Launch time a day", able.dailyAllowance.map { "\($0.inWords)" } ?? "any"),
        ("Kinds", "\(HostWords.list(kinds))"), ("Commands", able.runsCommands ? "yes" : "no"),
        ("Handlers", "\(HostWords.list(able.handlers.map(\.rawValue)))"),
        ("Commands may use", able.permissions.map(HostWords.permissions) ?? "everything"),
        ("Sandbox", able.sandbox.map { "\(HostWords.sandbox($0))" } ?? ""),
      ]))
      """
  }
}

extension Visit {
  /// What a call answers; `nil` if the person may not make it.
  func ifPermitted<Result: Sendable>(
    _ method: String, _ body: @Sendable (any OperatorAPI) async throws -> Result
  ) async throws -> Result? {
    guard let caller, HTTPCalls.permits(method, to: caller) else { return nil }
    return try await run(body)
  }
}
