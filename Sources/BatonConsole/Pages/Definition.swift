import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// The page of one definition: what it says, what became of its requests, and its earlier versions.
enum DefinitionPage {
  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let pattern = try visit.call.pattern
    let found = try await visit.run { try await $0.definitions(named: [pattern]) }
    guard let report = found.first(where: { $0.definition.pattern == pattern }) else {
      return try missing(pattern, found)
    }
    let able = try await DefinitionsPage.able([report], visit)?[pattern]
    let versions = try await visit.ifPermitted("Versions") { try await $0.versions(of: pattern) }
    let standing = try await visit.ifPermitted("Standing") { try await $0.standing() }
    return Page(
      title: pattern.rawValue, section: .definitions, topics: [.definitions, .requests],
      main: """
        <p class="crumbs"><a href="/definitions">Definitions</a></p>
        <div class="heading"><h1>\(Parts.name(pattern.rawValue))</h1>
        <p class="buttons">\(DefinitionActions.buttons(report, visit))</p></div>
        \(report.problem.map { "<p class=\"failure\">This definition is not run: \($0)</p>" })
        \(report.definition.title.map { "<p class=\"lead\">\($0)</p>" })
        \(counts(report))
        \(facts(report, able, visit.now))
        \(evictions(standing, pattern, visit))
        <h2>As it is stored</h2>
        \(report.problem == nil ? yaml(report.definition) : "<p>It breaks a rule of this version.</p>")
        \(versions.map { history($0, pattern, visit) })
        """)
  }

  private static func missing(_ pattern: IdentifierPattern, _ found: [DefinitionReport]) throws -> Page {
    let message = "no definition has the pattern '\(pattern.rawValue.escapedForMessage)'"
    guard !found.isEmpty else {
      throw HTTPFailure(404, "notFound", "\(message): the page of definitions lists those that are applied")
    }
    let items = found.prefix(100).map { report -> HTML in "<li>\(Parts.definition(report.definition.pattern))</li>" }
    return Page(
      title: pattern.rawValue, section: .definitions, topics: [.definitions],
      main: """
        <p class="crumbs"><a href="/definitions">Definitions</a></p>
        <h1>\(Parts.name(pattern.rawValue))</h1>
        <p>No definition has exactly this pattern. These concern it:</p>
        <ul>\(items)</ul>
        """)
  }

  private static func counts(_ report: DefinitionReport) -> HTML {
    Parts.cards(report.counts) { state in
      Link("requests", query: [("state", state.rawValue), ("id", report.definition.pattern.rawValue)])
    }
  }

  private static func facts(_ report: DefinitionReport, _ able: AbleHosts.Count?, _ now: Timestamp) -> HTML {
    let definition = report.definition
    return Parts.facts([
      ("Kind", "\(definition.kind.rawValue)"), ("Hosts that could take a request", able.map(Parts.able) ?? ""),
      ("A batch usually takes", "\(report.usualBatch?.inWords ?? "not known yet")"),
      ("Launch time used today", report.used == nil ? "" : DefinitionWords.allowance(report)),
      ("Applied", Parts.time(report.appliedAt, now)),
      ("Schedule", schedule(report, now)),
      (
        "Backfill", report.standing.backfill.map { "\($0.made) of \(max($0.made, $0.total)) times, for \($0.by)" } ?? ""
      ),
    ])
  }

  /// When its requests come by themselves; empty if they do not.
  private static func schedule(_ report: DefinitionReport, _ now: Timestamp) -> HTML {
    guard ScheduledJob.includes(report) else { return "" }
    let link = Link("schedules", query: [("pattern", report.definition.pattern.rawValue)])
    let pause: HTML = report.standing.pause.map { "<br>\(paused($0, now))" } ?? ""
    return "<a href=\"\(link)\">\(report.definition.comesWhen)</a>\(pause)"
  }

  private static func paused(_ pause: SchedulePause, _ now: Timestamp) -> HTML {
    "paused \(Parts.time(pause.since, now)) by \(pause.by): \(pause.reason)"
  }

  private static func evictions(_ standing: FleetStanding?, _ pattern: IdentifierPattern, _ visit: Visit) -> HTML {
    let here = standing?.evictions.filter { pattern.covers($0.pattern) } ?? []
    guard !here.isEmpty else { return "" }
    let rows = here.prefix(100).enumerated().map { index, eviction -> HTML in
      let link = Parts.link(of: eviction.pattern).appending("allow").with([("host", eviction.host.rawValue)])
      return """
        <tr id="eviction-\(index)"><th scope="row">\(Parts.host(eviction.host))</th>\
        <td>\(eviction.pattern.rawValue)</td>\
        <td class="actions">\(visit.button("Let it run there again", link, "Evict"))</td></tr>
        """
    }
    let more: HTML = here.count > rows.count ? "<p class=\"quiet\">and \(here.count - rows.count) more</p>" : ""
    let all = visit.button("Let it run on every host", Parts.link(of: pattern).appending("allow"), "Evict")
    return """
      <h2>Kept away from hosts</h2>
      \(Parts.table("Evictions", ["Host", "Job", "Actions"], rows))\(more)
      <p class="buttons">\(all)</p>
      """
  }

  private static func yaml(_ definition: Definition) -> HTML {
    "<pre class=\"yaml\" tabindex=\"0\"><code>\((try? DefinitionValue(definition).yaml) ?? "")</code></pre>"
  }

  // MARK: Versions

  private static func history(_ versions: [DefinitionVersion], _ pattern: IdentifierPattern, _ visit: Visit) -> HTML {
    guard let newest = versions.first else { return "" }
    let rows = versions.enumerated().map { index, version -> HTML in
      let earlier = index + 1 < versions.count ? versions[index + 1] : nil
      let changes =
        earlier.map { Changes.list(version.changes(since: $0), most: 12) } ?? "<small>the first that is kept</small>"
      let link = Parts.link(of: pattern).appending("revert").with([("version", "\(version.number)")])
      let revert = version.number == newest.number ? "" : visit.button("Apply again", link, "Apply")
      return """
        <tr id="version-\(version.number)"><th scope="row">version \(version.number)</th>\
        <td>\(Parts.time(version.appliedAt, visit.now))</td>\
        <td>\(version.appliedBy.isEmpty ? "–" : version.appliedBy)</td>\
        <td>\(changes)</td><td class="actions">\(revert)</td></tr>
        """
    }
    return """
      <h2>Versions</h2>
      \(Parts.table("Versions", ["Version", "Applied", "By", "Changed keys", "Actions"], rows))
      """
  }
}

extension Parts {
  /// On how many hosts a request could start, and what keeps it from the others if it can start on none.
  static func able(_ able: AbleHosts.Count) -> HTML {
    let later: HTML = able.now == able.ever ? "" : " now, \(number(able.ever)) some time"
    let counts: HTML = "\(number(able.now))\(later)"
    guard able.now == 0, !able.obstacles.isEmpty else { return counts }
    let reasons = able.obstacles.map { obstacle -> HTML in
      "\(reason(obstacle.code))\(obstacle.hosts.map { " on \(counted($0, "host"))" } ?? "")"
    }
    return "\(counts)<br><small>\(reasons.joined(by: ", "))</small>"
  }
}

/// Keys of definitions that differ.
enum Changes {
  /// Each key with its value before and after.
  /// - Parameter most: the most keys that are listed.
  static func list(_ changes: [DefinitionChange], most: Int = 50) -> HTML {
    guard !changes.isEmpty else { return "<small>nothing</small>" }
    let items = changes.prefix(most).map { change -> HTML in
      let before: HTML = change.before.map { "<del>− \(change.key): \(short($0))</del><br>" } ?? ""
      let after: HTML = change.after.map { "<ins>+ \(change.key): \(short($0))</ins>" } ?? ""
      return "<li>\(before)\(after)</li>"
    }
    let more: HTML = changes.count > most ? "<li>and \(changes.count - most) more</li>" : ""
    return "<ul class=\"plain code\">\(items)\(more)</ul>"
  }

  private static func short(_ value: DefinitionValue) -> String {
    let text = value.onOneLine
    return text.count > 200 ? text.prefix(199) + "…" : text
  }
}
