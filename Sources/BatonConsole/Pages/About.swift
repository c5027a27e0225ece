import BatonAPI
import BatonCoordinator
import BatonIdentity
import BatonModel
import BatonStore

/// The page of what serves the fleet: versions, coordinators, namespaces and addresses, as far as the API tells.
enum AboutPage {
  private static let mostNamespaces = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let coordinators = try await visit.ifPermitted("Coordinators") { try await $0.coordinators() } ?? []
    let fleet = try await visit.ifPermitted("Fleet") { try await $0.fleet() }
    let standing = try await visit.ifPermitted("Standing") { try await $0.standing() }
    let namespaces = try await visit.ifPermitted("Namespaces") { try await $0.namespaces() }
    return Page(
      title: "About", topics: [.overview],
      main: """
        <h1>About this fleet</h1>
        \(standing.map(state))
        \(facts(fleet, visit))
        \(table(coordinators))
        \(namespaces.map { self.table($0) })
        \(more(visit))
        """)
  }

  private static func state(_ standing: FleetStanding) -> HTML {
    if let problem = standing.problem {
      return "<p class=\"failure\" role=\"alert\">The coordinator accepts nothing: \(problem)</p>"
    }
    return standing.isPaused
      ? "<p class=\"notice\">The fleet is paused: nothing starts. <code>baton resume</code>, or the button on the "
        + "<a href=\"/\">overview</a>, lets it go on.</p>" : ""
  }

  private static func facts(_ fleet: FleetDescription?, _ visit: Visit) -> HTML {
    let scopes: HTML = visit.caller?.credential.map { "\($0.scopes.text)" } ?? "everything: the coordinator's own user"
    let isReadOnly: HTML = visit.console.isReadOnly ? " (this console is read-only)" : ""
    let trace: HTML = visit.console.traceURL.map { "<code>\($0)</code>" } ?? ""
    return Parts.facts([
      ("This console", "Baton \(BatonVersion.current)"), ("Signed in as", "\(visit.caller?.name ?? "")"),
      ("May do", scopes + isReadOnly), ("Fleet", fleet.map { "\($0.fleet)" } ?? ""),
      ("Pin for hosts and operators", fleet.map { "<code>\("\($0.pin)")</code>" } ?? ""),
      ("Workers connect to", fleet.map { address($0.workers.map { "\($0)" }) } ?? ""),
      ("Operators connect to", fleet.map { address($0.operators.map { "\($0)" }) } ?? ""),
      ("HTTPS", fleet.map { address($0.https.map { "\($0)" }) } ?? ""), ("Tracing backend", trace),
    ])
  }

  private static func address(_ text: String?) -> HTML {
    text.map { "<code>\($0)</code>" } ?? "not from other machines"
  }

  private static func table(_ coordinators: [CoordinatorReport]) -> HTML {
    guard !coordinators.isEmpty else { return "" }
    let rows = coordinators.prefix(100).map { one -> HTML in
      let place = one.place
      let duties: [HTML] = [
        one.answers ? "answers you" : "", one.isSteward ? "does the fleet's own work" : "",
        one.isEnded ? "has ended\(one.endedFor.map { " \($0.inWords) ago" } ?? "")" : "",
        !one.isEnded && (one.beatAge ?? .zero) > .seconds(3)
          ? "<span class=\"state failed\">no sign of life for \((one.beatAge ?? .zero).inWords)</span>" : "",
      ].filter { !$0.isEmpty }
      return """
        <tr id="coordinator-\(one.number)"><td class="number">\(one.number)</td>\
        <th scope="row">\(place.name.isEmpty ? "–" : place.name)</th><td>\(place.version)</td>\
        <td class="number">\(Parts.number(one.hosts))</td>\
        <td>\(duties.isEmpty ? "–" : duties.joined(by: ", "))</td></tr>
        """
    }
    return "<h2>Coordinators</h2>\n"
      + Parts.table(
        "Coordinators", ["Number", "Machine", "Version", "Hosts", "What it does"], rows)
  }

  private static func table(_ reports: NamespaceReports) -> HTML {
    // What belongs to no namespace comes first, and is all there is in a fleet without namespaces.
    guard reports.namespaces.count > 1 else { return "" }
    let rows = reports.namespaces.prefix(mostNamespaces).enumerated().map { index, report -> HTML in
      let quotas = report.namespace.quotas
      let prefix = report.namespace.prefix
      return """
        <tr id="namespace-\(index)"><th scope="row">\(prefix.isEmpty ? "no namespace" : prefix)</th>\
        <td>\(report.namespace.owner?.rawValue ?? "–")</td><td class="number">\(report.namespace.weight)</td>\
        <td class="number">\(amount(report.pending, quotas.pending))</td>\
        <td class="number">\(amount(report.running, quotas.running))</td>\
        <td class="number">\(amount(report.slots, quotas.slots))</td></tr>
        """
    }
    return "<h2>Namespaces</h2>\n"
      + Parts.table(
        "Namespaces", ["Prefix", "Owner", "Weight", "Pending", "Running", "Slots"], rows)
  }

  private static func amount(_ used: Int, _ limit: Int?) -> String {
    Parts.number(used) + (limit.map { " of \(Parts.number($0))" } ?? "")
  }

  private static func more(_ visit: Visit) -> HTML {
    var api: HTML = """
      <p>Every page here has a command that tells the same, with <code>-o json</code> for programs: \
      <code>baton --help</code>. <code>baton doctor</code> examines the settings and the store on the \
      coordinator's machine, and <code>/metrics</code> there tells of its span queue.</p>
      """
    if case .credentials = visit.console.signIn {
      api += "<p>The HTTP API is described in <a href=\"/v1/openapi.yaml\">/v1/openapi.yaml</a>.</p>"
    }
    return "<h2>More</h2>\n\(api)<p><a href=\"/reasons\">Reasons</a> · <a href=\"/help\">Keyboard</a></p>"
  }
}
