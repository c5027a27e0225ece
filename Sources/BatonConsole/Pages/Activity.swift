import BatonAPI
import BatonCoordinator
import BatonModel

extension Console {
  var activityRoutes: [Route] {
    [page("/activity", "Audit", query: ["actor", "method", "object", "since", "after"], ActivityPage.show)]
  }
}

/// The page of who did what, from the audit log, the newest first.
enum ActivityPage {
  private static let size = 100

  @Sendable static func show(_ visit: Visit) async throws -> Page {
    let query = visit.query.withoutEmptyValues
    let name = { (key: String) throws(HTTPFailure) in
      try query.text(key).map { text throws(HTTPFailure) in try Call.name(text) }
    }
    let filter = AuditFilter(
      actor: try name("actor"), object: try name("object"), since: try query.since("since", now: visit.now),
      method: try name("method"), isNewestFirst: true)
    let after = try query.number("after", in: 1...Int.max) ?? 0
    let rows = try await visit.run { try await $0.audit(filter, after: Int64(after), limit: size + 1) }
    let shown = rows.prefix(size)
    let next = rows.count > size ? shown.last.map { link(query, after: $0.sequence) } : nil
    let isFiltered = filter != AuditFilter(isNewestFirst: true)
    let list = shown.isEmpty ? nothing(isFiltered) : table(Array(shown), visit.now)
    // The first page follows the fleet. A later one stays as it is.
    return Page(
      title: "Activity", section: .activity, topics: after == 0 ? [.overview] : [],
      main: """
        <h1>Activity</h1>
        <p class="lead">Calls that changed something, and calls that were refused. Each row was stored together with its
        change. <code>baton audit verify</code> proves that no row was changed or removed.</p>
        \(try form(query))
        \(list)
        \(Fields.pages(first: after == 0 ? nil : link(query, after: nil), next: next, "the activity", "Older"))
        """)
  }

  private static func link(_ query: Query, after: Int64?) -> Link {
    let kept = ["actor", "method", "object", "since"].map { ($0, query.list($0).first) }
    return Link("activity", query: kept + [("after", after.map { "\($0)" })])
  }

  private static func form(_ query: Query) throws -> HTML {
    let methods = ActivityWords.methods.map { name -> HTML in "<option value=\"\(name)\"></option>" }
    return """
      <form class="filters" action="/activity">
      <label>Who <input name="actor" value="\(try query.text("actor") ?? "")" maxlength="255"></label>
      <label>What <input name="method" list="methods" value="\(try query.text("method") ?? "")" placeholder="Apply" \
      maxlength="64" autocomplete="off"></label>
      <datalist id="methods">\(methods)</datalist>
      <label>On what <input name="object" value="\(try query.text("object") ?? "")" maxlength="255"></label>
      <label>Since <input name="since" value="\(try query.text("since") ?? "")" placeholder="2h" maxlength="40"></label>
      <p class="buttons"><button>Filter</button> <a class="button" href="/activity">Clear</a></p>
      </form>
      """
  }

  private static func nothing(_ isFiltered: Bool) -> HTML {
    isFiltered
      ? Parts.empty("<p>No call matches. <a href=\"/activity\">Show all</a></p>")
      : Parts.empty("<p>Nothing was changed yet. What people and programs change from now on stands here.</p>")
  }

  private static func table(_ rows: [AuditRow], _ now: Timestamp) -> HTML {
    Parts.table(
      "Activity, the newest first", ["When", "Who", "What", "On what", "Outcome", "From where", "Detail"],
      rows.map { row in
        let entry = row.entry
        let actor: HTML =
          entry.actor.isEmpty
          ? "–" : "<a href=\"\(Link("activity", query: [("actor", entry.actor)]))\">\(entry.actor)</a>"
        let outcome: HTML = "<span class=\"state \(entry.outcome.rawValue)\">\(entry.outcome.rawValue)</span>"
        return """
          <tr id="row-\(row.sequence)"><td>\(Parts.time(entry.at, now))</td><td>\(actor)</td>\
          <td>\(method(entry.method))</td><td>\(object(entry))</td>\
          <td>\(outcome)</td><td>\(entry.peer)</td><td>\(entry.detail)</td></tr>
          """
      })
  }

  /// The method, after the words of the button that calls it if those are others.
  private static func method(_ name: String) -> HTML {
    ActivityWords.buttons[name].map { words in "\(words) <small>\(name)</small>" } ?? "\(name)"
  }

  /// What the call concerned, with a link where its method says what kind of thing that is.
  private static func object(_ entry: AuditEntry) -> HTML {
    guard !entry.object.isEmpty else { return "–" }
    switch ActivityWords.kind(of: entry.method) {
    case .host where HostName(entry.object).isWellFormed: return Parts.host(HostName(entry.object))
    case .definition:
      if let pattern = IdentifierPattern(entry.object) { return Parts.definition(pattern) }
    case .request:
      if let identifier = JobIdentifier(entry.object) {
        return "<a class=\"name\" href=\"\(Link("requests", identifier.rawValue))\">\(entry.object)</a>"
      }
    case .host, .fleet: break
    }
    return "\(entry.object)"
  }
}

/// The methods of the audit log.
enum ActivityWords {
  enum Kind: Hashable {
    case host, definition, request
    /// What has no page of its own.
    case fleet
  }

  static let methods = kinds.keys.sorted()

  /// What the console's buttons say that call a method of another name.
  static let buttons = [
    "SimulateLaunch": "Start now", "SimulateExpiry": "Stop now", "Redefine": "Use the new definition",
    "SetPriority": "Priority", "Unevict": "Let it run", "PauseSchedule": "Pause", "ResumeSchedule": "Resume",
    "StopBackfill": "Stop the backfill", "TestReceiver": "Send a test",
  ]

  static func kind(of method: String) -> Kind { kinds[method] ?? .fleet }

  /// What the calls of each method concern.
  private static let kinds: [String: Kind] = [
    "Apply": .definition, "Remove": .definition, "Evict": .definition, "Unevict": .definition, "Submit": .request,
    "SubmitFlow": .request,
    "Cancel": .request, "Retry": .request, "Redefine": .request, "SetPriority": .request, "SetSpread": .request,
    "PauseSchedule": .definition, "ResumeSchedule": .definition, "Backfill": .definition, "StopBackfill": .definition,
    "SimulateLaunch": .request, "SimulateExpiry": .request, "Drain": .host, "Undrain": .host, "ForgetHost": .host,
    "ForgetGoneHost": .host, "SimulateConditions": .host, "InviteHost": .host, "ApproveHost": .host,
    "RevokeHost": .host, "Pause": .fleet, "Resume": .fleet, "Prune": .fleet, "CancelTransfer": .fleet,
    "CreateCredential": .fleet, "RevokeCredential": .fleet, "Backup": .fleet, "MoveStore": .fleet,
    "RotateRoot": .fleet, "SimulateTransfer": .fleet, "TestReceiver": .fleet,
  ]
}
