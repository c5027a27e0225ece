import BatonAPI
import BatonCoordinator
import BatonModel
import BatonStore

/// What the search box finds: the page that a person most likely means.
enum Search {
  /// The newest requests among which a trace is looked for: there is no index of traces.
  private static let mostTraces = 500

  /// The page; `nil` if nothing has this name.
  static func find(_ text: String, _ visit: Visit) async throws -> Link? {
    guard !text.isEmpty else { return Link("requests") }
    if let (identifier, number) = request(text) { return Parts.link(of: identifier, number) }
    if let trace = trace(text), let found = try await self.found(trace, visit) { return found }
    if let identifier = JobIdentifier(text), try await hasRequests(.init(identifier), visit) {
      return Link("requests", identifier.rawValue)
    }
    if let host = try await host(text, visit) { return Parts.link(of: host) }
    guard let pattern = IdentifierPattern(text) else { return nil }
    if let definition = try await definition(pattern, visit) { return Parts.link(of: definition) }
    if !pattern.isWildcard, let below = IdentifierPattern(text + ".*"), try await hasRequests(below, visit) {
      return Link("requests", query: [("id", below.rawValue)])
    }
    return try await hasRequests(pattern, visit) ? Link("requests", query: [("id", text)]) : nil
  }

  /// `com.example.a#2` or `com.example.a #2`.
  static func request(_ text: String) -> (JobIdentifier, Int)? {
    let parts = text.split(separator: "#", omittingEmptySubsequences: false)
    guard parts.count == 2, let identifier = JobIdentifier(String(parts[0]).trimmed),
      let number = Int(String(parts[1]).trimmed), (1...Int(Int32.max)).contains(number)
    else { return nil }
    return (identifier, number)
  }

  /// 32 hexadecimal digits.
  static func trace(_ text: String) -> String? {
    let digits = text.lowercased()
    return digits.utf8.count == 32 && digits.allSatisfy { $0.isASCII && $0.isHexDigit } ? digits : nil
  }

  private static func found(_ trace: String, _ visit: Visit) async throws -> Link? {
    for states in [Set<RequestState>(), [.succeeded, .failed, .cancelled]] {
      let filter = RequestFilter(states: states, isNewestFirst: true)
      let page = try await visit.run { try await $0.requests(filter, after: nil, limit: mostTraces) }
      if let record = page.first(where: { "\($0.trace.traceID)" == trace }) {
        return Parts.link(of: record.identifier, record.number).appending("trace")
      }
    }
    return nil
  }

  private static func hasRequests(_ pattern: IdentifierPattern, _ visit: Visit) async throws -> Bool {
    let filter = RequestFilter(pattern: pattern, isNewestFirst: true)
    return try await !visit.run { try await $0.requests(filter, after: nil, limit: 1) }.isEmpty
  }

  private static func host(_ text: String, _ visit: Visit) async throws -> HostName? {
    let name = HostName(text)
    guard name.isWellFormed else { return nil }
    let page = try await visit.ifPermitted("FindHosts") {
      try await $0.hosts(HostFilter(name: name), after: nil, limit: 1)
    }
    return page?.hosts.first { $0.name == name }?.name
  }

  private static func definition(_ pattern: IdentifierPattern, _ visit: Visit) async throws -> IdentifierPattern? {
    let found = try await visit.ifPermitted("Definitions") { try await $0.definitions(named: [pattern]) } ?? []
    let patterns = found.map(\.definition.pattern)
    return patterns.first { $0 == pattern } ?? (patterns.count == 1 ? patterns.first : nil)
  }

  static func nothing(_ text: String) -> Page {
    Page(
      title: "Search",
      main: """
        <h1>Nothing found</h1>
        <p class="lead">Nothing is called <strong>\(text)</strong>.</p>
        \(Parts.empty(
          """
          <p>The search knows identifiers (<code>com.example.report</code>), requests \
          (<code>com.example.report#2</code>), \
          patterns (<code>com.example.*</code>), hosts, and the trace ids of the newest \(mostTraces) requests.</p>
          <p><a href="/requests">Requests</a> · <a href="/hosts">Hosts</a> · <a href="/definitions">Definitions</a></p>
          """))
        """)
  }
}

extension String {
  /// The text without spaces at its ends.
  var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
