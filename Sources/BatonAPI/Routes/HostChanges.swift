import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore
import HTTPTypes

extension Route {
  static let hostChanges = [
    Route(.post, "/v1/hosts/{host}/drain", .method("Drain")) { call in
      let host = try call.host
      try await call.nothing()
      let running = try await call.run { api in
        try await api.setDraining(host, true)
        return try await api.requests(
          RequestFilter(states: [.running], host: host), after: nil, limit: Page.limits.upperBound)
      }
      return Answer(JSONValue(draining: host, running))
    },
    Route(.post, "/v1/hosts/{host}/undrain", .method("Drain")) { call in
      let host = try call.host
      try await call.nothing()
      try await call.run { try await $0.setDraining(host, false) }
      return Answer(JSONValue(undrained: host))
    },
    Route(.post, "/v1/hosts/{host}/evict", .method("Evict")) { call in try await evict(true, call) },
    Route(.post, "/v1/hosts/{host}/allow", .method("Evict")) { call in try await evict(false, call) },
    Route(.post, "/v1/hosts/{host}/simulate", .method("SimulateConditions"), simulate),
  ]

  private static func evict(_ isEvicted: Bool, _ call: Call) async throws -> Answer {
    let host = try call.host
    var body = try await call.object()
    let pattern = try Call.pattern(try body.needed("identifier"))
    try body.finish()
    _ = try await call.run { try await $0.setEvicted(pattern, from: [host], isEvicted) }
    return Answer(JSONValue(evicted: pattern, from: host, isEvicted))
  }

  private static let simulations = Duration.seconds(1)...Duration.seconds(86_400)

  /// Replaces conditions of a host, or ends that with `"end": true`.
  @Sendable private static func simulate(_ call: Call) async throws -> Answer {
    let host = try call.host
    var body = try await call.object()
    let overrides = ConditionOverrides(
      power: try body.word("power", PowerSource.self), battery: try body.number("battery", in: 0...100),
      lowPowerMode: try body.truth("lowPowerMode"), thermal: try thermal(&body),
      network: try body.word("network", NetworkState.self), isIdle: try body.truth("idle"))
    let (term, ends) = (try term(&body), try body.truth("end") ?? false)
    try body.finish()
    guard ends != !overrides.isEmpty, !(ends && term != nil) else {
      throw HTTPFailure.invalid("the body needs a condition, such as \"power\": \"battery\", or only \"end\": true")
    }
    let lasting = ends ? .zero : term ?? .seconds(600)
    try await call.run { try await $0.simulateConditions(overrides, on: host, lasting: lasting) }
    return Answer(JSONValue(simulated: overrides, on: host, lasting: lasting))
  }

  private static func thermal(_ body: inout BodyObject) throws(HTTPFailure) -> ThermalState? {
    guard let name = try body.text("thermal") else { return nil }
    guard let state = ThermalState.allCases.first(where: { $0.name == name }) else {
      throw body.mistake("thermal", "has to be one of \(ThermalState.allCases.map(\.name).joined(separator: ", "))")
    }
    return state
  }

  private static func term(_ body: inout BodyObject) throws(HTTPFailure) -> Duration? {
    guard let text = try body.text("for") else { return nil }
    let term: Duration
    do { term = try Values.duration(text) } catch { throw .invalid("'for' of the body: \(error)") }
    guard simulations.contains(term) else { throw body.mistake("for", "has to be from 1s to 24h") }
    return term
  }
}
