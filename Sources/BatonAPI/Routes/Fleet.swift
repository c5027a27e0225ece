import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore
import HTTPTypes

extension Route {
  /// What concerns the fleet as a whole.
  static let fleet = [
    Route(.get, "/v1/overview", .method("Standing")) { call in
      let now = call.now
      return Answer(try await call.run { try await FleetStatus(asking: $0, at: now) }.json)
    },
    Route(.get, "/v1/queue", .method("Queue")) { call in
      Answer(JSONValue(try await call.run { try await $0.queue() }))
    },
    Route(.get, "/v1/coordinators", .method("Coordinators")) { call in
      let found = try await call.run { try await $0.coordinators() }
      return Answer(["coordinators": .array(found.map { JSONValue($0) })])
    },
    Route(.get, "/v1/namespaces", .method("Namespaces")) { call in
      let found = try await call.run { try await $0.namespaces() }
      return Answer(["namespaces": .array(found.namespaces.map { JSONValue($0, found) })])
    },
    Route(.get, "/v1/transfers", .method("Transfers"), query: ["host"]) { call in
      let host = try call.query.text("host").map { text throws(HTTPFailure) in try Call.host(text) }
      let found = try await call.run { try await $0.transfers(on: host) }
      return Answer([
        "transfers": .array(found.transfers.map { JSONValue($0) }), "hasMore": .bool(found.hasMore),
      ])
    },
    Route(.get, "/v1/notifications", .method("Notifications")) { call in
      let found = try await call.run { try await $0.notifications() }
      return Answer([
        "notifications": .array((found.failed + found.waiting).map { JSONValue($0) }),
        "receivers": .array(found.receivers.map { JSONValue($0) }), "waiting": JSONValue(found.waitingCount),
        "failed": JSONValue(found.failedCount),
      ])
    },
    Route(.post, "/v1/receivers/{receiver}/test", .method("TestReceiver")) { call in
      let name = try call.receiver
      try await call.nothing()
      return Answer(JSONValue(try await call.run { try await $0.testReceiver(name) }, of: name))
    },
    Route(.get, "/v1/limits", .method("Limits"), query: ["beginning", "after", "kind", "limit"], limits),
    Route(.post, "/v1/limits", .method("SetLimit"), setLimit),
    Route(.get, "/v1/audit", .method("Audit"), query: ["actor", "object", "since", "after", "limit"], audit),
    Route(.post, "/v1/fleet/pause", .method("Pause")) { call in try await pause(true, call) },
    Route(.post, "/v1/fleet/resume", .method("Pause")) { call in try await pause(false, call) },
  ]

  private static func pause(_ isPaused: Bool, _ call: Call) async throws -> Answer {
    try await call.nothing()
    try await call.run { try await $0.setPaused(isPaused) }
    return Answer(JSONValue(paused: isPaused))
  }

  @Sendable private static func limits(_ call: Call) async throws -> Answer {
    let query = call.query
    let beginning = try query.text("beginning") ?? ""
    guard beginning.utf8.count <= LimitKey.maximumBytes else {
      throw HTTPFailure.invalid("'beginning' has more than \(LimitKey.maximumBytes) bytes")
    }
    let kind = try self.kind(try query.text("kind") ?? LimitKind.concurrency.rawValue)
    let after = try query.text("after").map { text throws(HTTPFailure) in try key(text, kind) }
    let limit = try query.number("limit", in: Page.limits) ?? 100
    let found = try await call.run { try await $0.limits(beginningWith: beginning, after: after, limit: limit + 1) }
    let page = found.prefix(limit)
    return Answer([
      "limits": .array(page.map { JSONValue($0) }), "hasMore": .bool(found.count > limit),
    ])
  }

  @Sendable private static func setLimit(_ call: Call) async throws -> Answer {
    var body = try await call.object()
    let key = try key(try body.needed("key"), try kind(try body.needed("kind")))
    let limit = try body.number("limit", in: 1...StartRate.limits.upperBound)
    let (per, burst) = (try body.text("per"), try body.number("burst", in: StartRate.limits))
    try body.finish()
    let setting = try setting(of: key.kind, limit, per: per, burst: burst)
    if let problem = setting?.problem { throw HTTPFailure.invalid(problem) }
    return Answer(JSONValue(try await call.run { try await $0.setLimit(key, setting) }))
  }

  private static func kind(_ text: String) throws(HTTPFailure) -> LimitKind {
    guard let kind = LimitKind(rawValue: text) else { throw .invalid("'kind' has to be concurrency or rate") }
    return kind
  }

  private static func key(_ text: String, _ kind: LimitKind) throws(HTTPFailure) -> LimitKey {
    let key = LimitKey(kind, text)
    if let problem = key.problem { throw .invalid("the key \(problem)") }
    return key
  }

  /// - Returns: `nil` if there is no limit, so that the definitions say it again.
  private static func setting(
    of kind: LimitKind, _ limit: Int?, per: String?, burst: Int?
  ) throws(HTTPFailure) -> LimitSetting? {
    guard let limit else {
      if per == nil, burst == nil { return nil }
      throw .invalid("'per' and 'burst' need 'limit'")
    }
    switch kind {
    case .concurrency:
      if per != nil || burst != nil { throw .invalid("'per' and 'burst' belong to the kind rate") }
      return .concurrency(limit)
    case .rate:
      guard let per, let time = try? Values.duration(per) else {
        throw .invalid("'per' has to be a duration such as 1m, from 1s to 1d")
      }
      return .rate(StartRate(limit: limit, per: time, burst: burst ?? StartRate.usualBurst))
    }
  }

  @Sendable private static func audit(_ call: Call) async throws -> Answer {
    let query = call.query
    // A row names neither longer texts nor such with control characters.
    let (actor, object) = (
      try query.text("actor").map { text throws(HTTPFailure) in try Call.name(text) },
      try query.text("object").map { text throws(HTTPFailure) in try Call.name(text) }
    )
    let filter = AuditFilter(
      actor: actor, object: object, since: try query.since("since", now: call.now))
    let limit = try query.number("limit", in: Page.limits) ?? 100
    let after = try query.number("after", in: 0...Int.max) ?? 0
    let rows = try await call.run { try await $0.audit(filter, after: Int64(after), limit: limit + 1) }
    return Answer(Page(rows, limit: limit, json: \.json, position: { .string(String($0.sequence)) }).json("rows"))
  }
}
