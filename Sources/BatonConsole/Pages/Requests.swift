import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import HTTPTypes

extension Console {
  var requestRoutes: [Route] {
    [
      page("/requests", "List", query: ["state", "id", "host", "kind", "by", "since", "after"]) { visit in
        let list = try RequestList(visit)
        return Page(
          title: "Requests", section: .requests, topics: [.requests], main: try await list.main(visit))
      },
      page("/requests/{identifier}", "Show", RequestPage.show),
      page("/requests/{identifier}/{number}", "Show", query: ["launch", "shard"], RequestPage.show),
      page("/requests/{identifier}/why", "Explain", WhyPage.show),
      page("/requests/{identifier}/trace", "Trace", query: ["all"], TracePage.show),
      page("/requests/{identifier}/{number}/why", "Explain", WhyPage.show),
      page("/requests/{identifier}/{number}/trace", "Trace", query: ["all"], TracePage.show),
      Route(.get, "/requests/{identifier}/{number}/otlp", .method("Trace"), TracePage.download),
    ] + RequestActions.all.flatMap(action)
  }
}

/// The list of requests, the newest first.
private struct RequestList: Sendable {
  private static let limit = 50

  let filter: RequestFilter
  private let states: String?
  private let text: String?
  private let since: Timestamp?
  private let sinceText: String?
  private let after: RequestID?

  init(_ visit: Visit) throws(HTTPFailure) {
    let query = visit.query
    states = try query.text("state").flatMap { $0.isEmpty ? nil : $0 }
    text = try query.text("id").flatMap { $0.isEmpty ? nil : $0 }
    sinceText = try query.text("since").flatMap { $0.isEmpty ? nil : $0 }
    since = sinceText == nil ? nil : try query.since("since", now: visit.now)
    after = try query.number("after", in: 1...Int.max).map { RequestID(Int64($0)) }
    let host = try query.text("host").flatMap { $0.isEmpty ? nil : $0 }
    filter = RequestFilter(
      states: try states.map { text throws(HTTPFailure) in try RequestState.named(text) } ?? [],
      pattern: try text.map { text throws(HTTPFailure) in try Call.pattern(text) },
      host: try host.map { text throws(HTTPFailure) in try Call.host(text) },
      kind: try query.withoutEmptyValues.word("kind", JobKind.self),
      submitter: try query.withoutEmptyValues.text("by").map { text throws(HTTPFailure) in try Call.name(text) },
      isNewestFirst: true)
  }

  func main(_ visit: Visit) async throws -> HTML {
    let (found, obstacles) = try await visit.run { api in
      let found = try await api.page(of: filter, after: after, limit: Self.limit).since(since, in: filter.order)
      var lookup = ObstacleLookup()
      return (found, try await lookup.obstacles(of: found.records, api))
    }
    let isShort = found.next != nil && found.records.count < Self.limit
    let part: HTML =
      isShort
      ? "<p>This page has looked at \(Parts.number(Verbs.listWindow)) requests. Older ones may match too.</p>" : ""
    return """
      <h1>Requests</h1>
      \(form)
      \(found.records.isEmpty ? isShort ? "" : empty : table(found.records, obstacles, visit))
      \(part)\(found.next.map(next))
      """
  }

  private var form: HTML {
    let choices = ["", "unfinished", "pending", "ended"] + RequestState.allCases.map(\.rawValue)
    let options = choices.map { choice -> HTML in
      let isChosen: HTML = choice == states ?? "" ? " selected" : ""
      return "<option value=\"\(choice)\"\(isChosen)>\(choice.isEmpty ? "any state" : choice)</option>"
    }
    let kinds = [nil] + JobKind.allCases.map(Optional.some)
    let kindOptions = kinds.map { kind -> HTML in
      let isChosen: HTML = kind == filter.kind ? " selected" : ""
      return "<option value=\"\(kind?.rawValue ?? "")\"\(isChosen)>\(kind?.rawValue ?? "any kind")</option>"
    }
    return """
      <form class="filters" action="/requests">
      <label>State <select name="state">\(options)</select></label>
      <label>Identifier <input name="id" value="\(text ?? "")" placeholder="com.example.*" autocomplete="off"></label>
      <label>Host <input name="host" value="\(filter.host?.rawValue ?? "")" autocomplete="off"></label>
      <label>Kind <select name="kind">\(kindOptions)</select></label>
      <label>By <input name="by" value="\(filter.submitter ?? "")" maxlength="255" autocomplete="off"></label>
      <label>Since <input name="since" value="\(sinceText ?? "")" placeholder="2h" size="8" autocomplete="off"></label>
      <button>Filter</button> <a href="/requests">Clear</a>
      </form>
      """
  }

  private var isFiltered: Bool {
    filter.pattern != nil || !filter.states.isEmpty || filter.host != nil || since != nil || filter.isNarrowed
  }

  private var empty: HTML {
    if after != nil { return Parts.empty("<p>There are no more requests. <a href=\"/requests\">To the newest</a></p>") }
    if isFiltered {
      return Parts.empty("<p>No request matches. <a href=\"/requests\">Clear the filters</a></p>")
    }
    return Parts.empty(
      """
      <p>There is no request yet. A request is one submitted job; its definition says what the job is:</p>
      \(Parts.command("baton submit -f job.yaml --wait"))
      <p>Or submit a request on the page of its <a href="/definitions">definition</a>.</p>
      """)
  }

  private func table(
    _ records: [RequestRecord], _ obstacles: [RequestID: WaitingReason], _ visit: Visit
  ) -> HTML {
    let selects = visit.may("Cancel") || visit.may("Retry")
    let rows = records.map { record -> HTML in
      let name = "\(record.identifier.rawValue)#\(record.number)"
      let box: HTML =
        selects
        ? """
        <td><input type="checkbox" name="id" value="\(name)" aria-label="Select \(name)"></td>
        """ : ""
      return """
        <tr id="r\(record.id.rawValue)">\(box)<td>\(Parts.request(record.identifier, record.number))\
        \(!record.titles.isEmpty, "<br><small>\(record.titles)</small>")</td>\
        <td>\(Parts.state(record.state))</td><td>\(standing(record, obstacles[record.id], visit.now))</td>\
        <td>\(record.host.map { Parts.host($0) })</td><td>\(RequestParts.progress(record))</td>\
        <td>\(Parts.time(record.endedAt ?? record.submittedAt, visit.now))</td><td>\(by(record.principal))</td></tr>
        """
    }
    let columns = ["Request", "State", "Because", "Host", "Progress", "Submitted or ended", "By"]
    let table = Parts.table("Requests, the newest first", (selects ? ["Select"] : []) + columns, rows)
    guard selects else { return table }
    let buttons: HTML = """
      \(visit.may("Cancel"), "<button formaction=\"/requests/cancel\">Cancel the selected</button>") \
      \(visit.may("Retry"), "<button formaction=\"/requests/retry\">Retry the selected</button>")
      """
    return "<form method=\"get\" action=\"/requests/cancel\">\(table)<p class=\"buttons\">\(buttons)</p></form>"
  }

  /// Why the request stands where it does, on one line.
  private func standing(_ record: RequestRecord, _ obstacle: WaitingReason?, _ now: Timestamp) -> HTML {
    switch record.state {
    case .ready:
      guard let obstacle else { return "" }
      let link = Parts.link(of: record.identifier, record.number).appending("why")
      return "<a href=\"\(link)\">\(obstacle.code)</a>"
    case .scheduled: return "\(record.standing(at: now))"
    case .failed: return "\((record.reason ?? "").lastLine)"
    case .cancelled: return "\(record.reason.map { "by \($0)" } ?? "")"
    case .running: return "\(record.hostAway == nil ? "" : "its host is away")"
    case .succeeded: return "\(record.finding ?? "")"
    }
  }

  private func by(_ principal: String) -> HTML {
    principal.isEmpty ? "" : "<a href=\"\(Link("requests", query: [("by", principal)]))\">\(principal)</a>"
  }

  private func next(_ position: RequestID) -> HTML {
    let link = Link(
      "requests",
      query: [
        ("state", states), ("id", text), ("host", filter.host?.rawValue), ("kind", filter.kind?.rawValue),
        ("by", filter.submitter), ("since", sinceText), ("after", "\(position.rawValue)"),
      ])
    return "<p><a class=\"button\" rel=\"next\" href=\"\(link)\">Older requests</a></p>"
  }
}
