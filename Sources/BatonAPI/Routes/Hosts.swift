package import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import HTTPTypes

extension Route {
  static let hosts = [
    Route(
      .get, "/v1/hosts", .method("FindHosts"), query: ["name", "state", "label", "condition", "after", "limit"], list),
    Route(.get, "/v1/hosts/{host}", .method("FindHosts")) { call in
      Answer(JSONValue(try await one(try call.host, call)))
    },
    Route(.get, "/v1/hosts/{host}/conditions", .method("HostHistory"), query: ["since", "limit"]) { call in
      try await history("conditions", call)
    },
    Route(.get, "/v1/hosts/{host}/launches", .method("HostHistory"), query: ["since", "limit"]) { call in
      try await history("launches", call)
    },
  ]

  @Sendable private static func list(_ call: Call) async throws -> Answer {
    let query = call.query
    let filter = try HostFilter(query)
    let limit = try query.number("limit", in: Page.limits) ?? 100
    let after = try query.text("after").map { text throws(HTTPFailure) in try Call.host(text) }
    let found = try await call.run { try await $0.hosts(filter, after: after, limit: limit) }
    var page = Page(
      found.hosts, limit: limit, json: { JSONValue($0) }, position: { JSONValue($0.name.rawValue) })
    if found.hasMore { page.goOn(after: found.hosts.last.map { JSONValue($0.name.rawValue) }) }
    return Answer(page.json("hosts").adding(["summary": found.summary.map { JSONValue($0) } ?? .null]))
  }

  /// - Throws: an `HTTPFailure` with the status 404 if there is no such host.
  static func one(_ host: HostName, _ call: Call) async throws -> HostReport {
    guard PrincipalPattern(host.rawValue) != nil else { throw unknown(host) }
    let page = try await call.run { try await $0.hosts(HostFilter(name: host), after: nil, limit: 1) }
    guard let report = page.hosts.first, report.name == host else { throw unknown(host) }
    return report
  }

  private static func unknown(_ host: HostName) -> HTTPFailure {
    HTTPFailure(404, "notFound", "there is no host '\(host.rawValue.escapedForMessage)': /v1/hosts lists them")
  }

  /// The part of a host's history that has this name.
  private static func history(_ part: String, _ call: Call) async throws -> Answer {
    let (host, query) = (try call.host, call.query)
    let since = try query.since("since", now: call.now) ?? call.now + .seconds(-86_400)
    let limit = try query.number("limit", in: 1...ConditionChange.most) ?? 100
    let history = try await call.run { try await $0.history(of: host, since: since, limit: limit) }
    return Answer(JSONValue(history, of: host).keeping(["host", part]))
  }
}

extension HostFilter {
  /// The filter of a query with `name`, `state`, `label` and `condition`.
  package init(_ query: Query) throws(HTTPFailure) {
    let pattern = try query.text("name").map { text throws(HTTPFailure) in
      guard let pattern = PrincipalPattern(try Call.name(text)) else {
        throw .invalid("'name' has to be a name, in which * stands for any characters")
      }
      return pattern
    }
    let labels = try query.list("label").map { text throws(HTTPFailure) in
      guard let label = Label(text) else {
        throw .invalid("'label' has to be NAME=VALUE or NAME, not '\(text.escapedForMessage)'")
      }
      return label
    }
    self.init(
      pattern: pattern, states: Set(try query.words("state", HostReport.State.self)), labels: labels,
      conditions: Set(try query.words("condition", Condition.self)))
  }
}
