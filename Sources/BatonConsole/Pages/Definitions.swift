import BatonAPI
import BatonCoordinator
import BatonModel
import HTTPTypes

extension Console {
  var definitionRoutes: [Route] {
    [
      page("/definitions", "Definitions", query: ["pattern", "after"], DefinitionsPage.show),
      page("/definitions/{pattern}", "Definitions", DefinitionPage.show),
      page("/definitions/check", "AbleHosts", query: ["pattern"], CheckPage.empty),
      Route(.post, "/definitions/check", .method("AbleHosts")) { call in
        try checkMayChange()
        let visit = Visit(call: call, console: self)
        return Answer(visit.document(try await CheckPage.check(visit)))
      },
      Route(.post, "/definitions/apply", .method("Apply")) { call in
        try checkMayChange()
        return try await CheckPage.apply(Visit(call: call, console: self))
      },
    ] + DefinitionActions.all.flatMap(action)
  }
}

/// The page with all definitions, 100 at a time.
enum DefinitionsPage {
  private static let size = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let query = visit.query.withoutEmptyValues
    let pattern = try query.text("pattern").map { text throws(HTTPFailure) in try Call.pattern(text) }
    let after = try query.text("after").map { text throws(HTTPFailure) in try Call.pattern(text) }
    let found = try await visit.run { try await $0.definitions(named: pattern.map { [$0] } ?? []) }
    let rest = found.filter { report in after.map { $0 < report.definition.pattern } ?? true }
    let shown = Array(rest.prefix(size))
    let able = try await able(shown, visit)
    let next = rest.count > size ? shown.last?.definition.pattern.rawValue : nil
    let link = next.map { Link("definitions", query: [("pattern", pattern?.rawValue), ("after", $0)]) }
    let main = shown.isEmpty ? nothing(pattern, visit) : table(shown, able, visit.now)
    return Page(
      title: "Definitions", section: .definitions, topics: [.definitions, .requests],
      main: """
        <div class="heading"><h1>Definitions</h1><p class="buttons">\(check(visit))</p></div>
        \(found.isEmpty && pattern == nil ? "" : filter(pattern, count: found.count))
        \(main)
        \(Fields.pages(next: link, "definitions"))
        """)
  }

  private static func check(_ visit: Visit) -> HTML {
    guard visit.may("AbleHosts") else { return "" }
    return
      "<a class=\"button\" href=\"/definitions/check\">\(visit.may("Apply") ? "Check and apply" : "Check") YAML</a>"
  }

  private static func filter(_ pattern: IdentifierPattern?, count: Int) -> HTML {
    """
    <form class="filters" action="/definitions">
    <label>Identifier or pattern <input name="pattern" value="\(pattern?.rawValue ?? "")" placeholder="com.example.*" \
    maxlength="255" autocomplete="off"></label>
    <p class="buttons"><button>Filter</button> <a class="button" href="/definitions">Clear</a></p>
    </form>
    <p class="quiet">\(counted(count, "definition"))</p>
    """
  }

  private static func nothing(_ pattern: IdentifierPattern?, _ visit: Visit) -> HTML {
    if let pattern {
      return Parts.empty(
        "<p>No definition is below <code>\(pattern.rawValue)</code>. <a href=\"/definitions\">Show all</a></p>")
    }
    return Parts.empty(
      """
      <p>No definition is applied yet. A definition says what a job is: what runs, when, and on which hosts. Write a \
      job \
      file, and apply it:</p>
      \(Parts.command("baton apply job.yaml"))
      \(visit.may("AbleHosts"), "<p>Or <a href=\"/definitions/check\">check one here</a>.</p>")
      """)
  }

  // MARK: The list

  /// How many definitions times hosts are compared for one list.
  private static let mostPairs = 10_000

  /// On how many hosts a request of each definition could start now; `nil` where there are too many to compare.
  static func able(
    _ reports: [DefinitionReport], _ visit: Visit
  ) async throws -> [IdentifierPattern: AbleHosts.Count]? {
    let sound = reports.filter { $0.problem == nil }.map(\.definition)
    guard let first = sound.first, sound.count <= AbleHosts.mostDefinitions,
      var able = try await able([first], visit)
    else { return nil }
    if sound.count > 1 {
      guard sound.count * able.hosts <= mostPairs, let all = try await self.able(sound, visit) else { return nil }
      able = all
    }
    return Dictionary(zip(sound.map(\.pattern), able.counts), uniquingKeysWith: { first, _ in first })
  }

  private static func able(_ definitions: [Definition], _ visit: Visit) async throws -> AbleHosts? {
    guard let caller = visit.caller, HTTPCalls.permits("AbleHosts", to: caller) else { return nil }
    let key = AbleKey(credential: visit.key, definitions: definitions)
    return try await visit.console.able.value(of: key, at: visit.now) {
      try await visit.run { try await $0.ableHosts(for: definitions) }
    }
  }

  private static let states: [RequestState] = [.running, .ready, .scheduled, .failed, .succeeded]

  private static func table(
    _ reports: [DefinitionReport], _ able: [IdentifierPattern: AbleHosts.Count]?, _ now: Timestamp
  ) -> HTML {
    let hasAllowance = reports.contains { $0.used != nil }
    let columns =
      ["Definition", "Kind"] + states.map(\.title) + ["A batch takes"] + (hasAllowance ? ["Used today"] : [])
      + (able == nil ? [] : ["Hosts now"]) + ["Applied"]
    let rows = reports.enumerated().map { index, report -> HTML in
      let pattern = report.definition.pattern
      let allowance: HTML = hasAllowance ? "<td class=\"number\">\(DefinitionWords.allowance(report))</td>" : ""
      let hosts: HTML =
        able.map { "<td class=\"number\">\($0[pattern].map { "\(Parts.number($0.now))" } ?? "–")</td>" } ?? ""
      let counts = states.map { "<td class=\"number\">\(DefinitionWords.count(report, $0))</td>" as HTML }
      return """
        <tr id="definition-\(index)"><th scope="row">\(Parts.definition(pattern))\(detail(report))</th>\
        <td>\(report.definition.kind.rawValue)</td>\(counts)\
        <td class="number">\(report.usualBatch?.inWords ?? "–")</td>\(allowance)\(hosts)\
        <td>\(Parts.time(report.appliedAt, now))</td></tr>
        """
    }
    let hint: HTML =
      able == nil && reports.count > 1
      ? "<p class=\"quiet\">On how many hosts they could start now is told where definitions and hosts are few: filter "
        + "the list, or look at one of them.</p>" : ""
    return Parts.table("Definitions", columns, rows) + hint
  }

  private static func detail(_ report: DefinitionReport) -> HTML {
    if let problem = report.problem {
      return "<br><span class=\"state failed\">not run</span> <small>\(problem)</small>"
    }
    return report.definition.title.map { "<br><small>\($0)</small>" } ?? ""
  }
}

/// Of which definitions it is told on how many hosts they could start.
struct AbleKey: Hashable, Sendable {
  /// Empty for the coordinator's own user.
  var credential: [UInt8]
  var definitions: [Definition]
}

/// Parts that both pages of definitions have.
enum DefinitionWords {
  /// A number that leads to the requests that it counts.
  static func count(_ report: DefinitionReport, _ state: RequestState) -> HTML {
    let count = report.counts[state] ?? 0
    guard count > 0 else { return "<span class=\"quiet\">0</span>" }
    let link = Link("requests", query: [("state", state.rawValue), ("id", report.definition.pattern.rawValue)])
    return "<a href=\"\(link)\">\(Parts.number(count))</a>"
  }

  /// How much of the day's launch time is used: `12m of 1h`.
  static func allowance(_ report: DefinitionReport) -> HTML {
    guard let used = report.used, let allowance = report.definition.dailyAllowance else { return "–" }
    return "\(used.inWords) of \(allowance.inWords)"
  }
}

extension RequestState {
  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}
