package import BatonCoordinator
import BatonJSON
package import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import HTTPTypes

extension Route {
  /// What can be read of requests.
  static let requests =
    [
      Route(
        .get, "/v1/requests", .method("List"),
        query: ["pattern", "state", "host", "kind", "by", "flow", "since", "order", "obstacles", "after", "limit"], list
      )
    ] + ofRequest(.get, "", "Show", show)
    + ofRequest(.get, "/shards", "Shards", query: ["after", "limit"], shards)
    + ofRequest(.get, "/explain", "Explain", explain) + ofRequest(.get, "/trace", "Trace", query: ["format"], trace)
    + ofRequest(.get, "/logs", "Logs", query: ["launch", "shard", "tail", "since", "follow"], waits: true, logs)
    + ofRequest(.get, "/wait", "Watch", query: ["timeout", "until"], waits: true, wait)

  /// A route for the current request of an identifier, and one for the request with a number.
  static func ofRequest(
    _ method: HTTPRequest.Method, _ end: String, _ name: String, query: [String] = [], waits: Bool = false,
    _ answer: @escaping @Sendable (Call) async throws -> Answer
  ) -> [Route] {
    ["/v1/requests/{identifier}", "/v1/requests/{identifier}/{number}"].map { path in
      Route(method, path + end, .method(name), query: query, waits: waits, answer)
    }
  }

  private enum Order: String, CaseIterable { case newest, oldest }

  @Sendable private static func list(_ call: Call) async throws -> Answer {
    let query = call.query
    let states = try query.list("state").map { text throws(HTTPFailure) in try RequestState.named(text) }
    let filter = RequestFilter(
      states: states.reduce(into: []) { $0.formUnion($1) },
      pattern: try query.text("pattern").map { text throws(HTTPFailure) in try Call.pattern(text) },
      host: try query.text("host").map { text throws(HTTPFailure) in try Call.host(text) },
      kind: try query.word("kind", JobKind.self),
      submitter: try query.text("by").map { text throws(HTTPFailure) in try Call.name(text) },
      flow: try query.number("flow", in: 1...Int.max).map { RequestID(Int64($0)) },
      isNewestFirst: (try query.word("order", Order.self) ?? .newest) == .newest)
    let since = try query.since("since", now: call.now)
    guard since == nil || filter.isNewestFirst else {
      throw HTTPFailure.invalid("'since' lists the newest requests first: leave out 'order=oldest'")
    }
    let limit = try query.number("limit", in: Page.limits) ?? 100
    let after = try query.number("after", in: 1...Int.max).map { RequestID(Int64($0)) }
    let explains = try query.truth("obstacles")
    let (found, obstacles) = try await call.run { api in
      let found = try await api.page(of: filter, after: after, limit: limit).since(since, in: filter.order)
      var lookup = ObstacleLookup()
      return (found, explains ? try await lookup.obstacles(of: found.records, api) : [:])
    }
    let position = { (id: RequestID) in JSONValue.string(String(id.rawValue)) }
    var page = Page(
      found.records, limit: limit, json: { JSONValue($0, obstacle: obstacles[$0.id]) }, position: { position($0.id) })
    page.goOn(after: found.next.map(position))
    return Answer(page.json("requests"))
  }

  @Sendable private static func show(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let (details, failed) = try await call.run { api in
      let details = try await api.details(identifier, number: number)
      return (details, try await BatchList.failed(of: details.record, asking: api))
    }
    return Answer(JSONValue(details, failed: failed))
  }

  @Sendable private static func shards(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let limit = try call.query.number("limit", in: Page.limits) ?? 100
    let after = try call.query.number("after", in: 0...Int(Int32.max))
    let found = try await call.run { try await $0.shards(identifier, number: number, after: after, limit: limit + 1) }
    return Answer(
      Page(found, limit: limit, json: { JSONValue($0) }, position: { .string(String($0.index)) }).json("shards"))
  }

  /// Each host with its obstacles, as the command tells it to programs.
  @Sendable private static func explain(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let (explanation, hosts) = try await call.run { api in
      let explanation = try await api.explain(identifier, number: number)
      return (explanation, explanation.record.state.isPending ? try await everyHost(api) : [])
    }
    return Answer(JSONValue(explanation, hosts))
  }

  private static func everyHost(_ api: any OperatorAPI) async throws -> [HostReport] {
    var hosts: [HostReport] = []
    while true {
      let page = try await api.hosts(HostFilter(), after: hosts.last?.name, limit: Coordinator.mostHosts)
      hosts += page.hosts
      if !page.hasMore || page.hosts.isEmpty { return hosts }
    }
  }

  private enum TraceFormat: String, CaseIterable { case json, otlp }

  @Sendable private static func trace(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let format = try call.query.word("format", TraceFormat.self) ?? .json
    let trace = try await call.run { try await $0.trace(identifier, number: number) }
    if format == .otlp { return Answer(body: .bytes(Array((trace.exportable.json + "\n").utf8), type: Answer.json)) }
    return Answer(JSONValue(trace.name(orElse: identifier, number: number), trace, link: nil))
  }
}

extension RequestState {
  /// The states that a word names: one state, or a group of them.
  package static func named(_ text: String) throws(HTTPFailure) -> Set<RequestState> {
    if let state = Self(rawValue: text) { return [state] }
    switch text {
    case "pending": return Set(RequestState.allCases.filter(\.isPending))
    case "unfinished": return Set(RequestState.allCases.filter { !$0.isEnded })
    case "ended": return Set(RequestState.allCases.filter(\.isEnded))
    default:
      let names = RequestState.allCases.map(\.rawValue) + ["pending", "unfinished", "ended"]
      throw .invalid("'state' has to be one of \(names.joined(separator: ", ")), not '\(text.escapedForMessage)'")
    }
  }
}
