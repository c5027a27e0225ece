import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore
import BatonWire
import HTTPTypes

extension Route {
  /// What can be done with requests.
  static let requestChanges =
    [
      Route(.post, "/v1/requests", .method("Submit"), submit),
      Route(.post, "/v1/flows", .method("SubmitFlow"), submitFlow),
      Route(.post, "/v1/flows/{flow}/cancel", .method("Cancel")) { call in
        let flow = try call.flow
        try await call.nothing()
        let principal = call.claimedPrincipal
        let cancelled = try await call.run { try await $0.cancel(.flow(flow), by: principal) }
        return Answer(["cancelled": .array(cancelled.map { JSONValue($0) })])
      },
    ] + ofRequest(.post, "/cancel", "Cancel", cancel)
    + ofRequest(.post, "/retry", "Retry", retry) + ofRequest(.post, "/simulate", "SimulateLaunch", simulate)
    + ofRequest(.post, "/spread", "SetSpread", setSpread) + ofRequest(.post, "/priority", "SetPriority", setPriority)

  /// Submits one request, or several. The answers of several come in their order; a refused one does not affect the
  /// others.
  @Sendable private static func submit(_ call: Call) async throws -> Answer {
    let (tree, bytes) = try await call.json(most: Call.largestBody)
    let key = try call.idempotencyKey
    let parent = call.header("traceparent").flatMap(TraceContext.init(traceparent:))
    guard case .array(let elements) = tree.value else {
      let order = try SubmissionOrder(tree, "the body", key: key, parent: parent, body: bytes)
      return try answer(to: order, try await answers(to: [order], call)[0])
    }
    let orders = try orders(elements, key: key, parent: parent, bytes)
    return Answer(list(orders, try await answers(to: orders, call)))
  }

  /// Submits the requests of a list as one flow, or none of them.
  @Sendable private static func submitFlow(_ call: Call) async throws -> Answer {
    let (tree, bytes) = try await call.json(most: Call.largestBody)
    guard case .array(let elements) = tree.value else {
      throw HTTPFailure.invalid("the body must be a list of requests")
    }
    let parent = call.header("traceparent").flatMap(TraceContext.init(traceparent:))
    let orders = try orders(elements, key: try call.idempotencyKey, parent: parent, bytes)
    let principal = call.claimedPrincipal
    let results = try await call.run { try await $0.submitFlow(orders, by: principal) }
    guard results.count == orders.count else { throw HTTPFailure(500, "internal", "some submissions got no answer") }
    return Answer(list(orders, results))
  }

  private static func list(_ orders: [SubmissionOrder], _ results: [SubmissionResult]) -> JSONValue {
    let answers = zip(orders, results).map { order, result -> JSONValue in
      do throws(HTTPFailure) { return try receipt(order, result) } catch {
        return ["code": JSONValue(error.code), "message": JSONValue(error.message)]
      }
    }
    return ["answers": .array(answers)]
  }

  /// The orders of a list of submissions.
  private static func orders(
    _ elements: [JSONTree], key: String?, parent: TraceContext?, _ bytes: [UInt8]
  ) throws -> [SubmissionOrder] {
    guard !elements.isEmpty else { throw HTTPFailure.invalid("the list of the body is empty: it needs a request") }
    do { try WireLimits.submissions.check(elements.count) } catch { throw HTTPFailure.invalid(error.message) }
    var orders: [SubmissionOrder] = []
    for (index, element) in elements.enumerated() {
      orders.append(
        try SubmissionOrder(
          element, "request \(index) of the body", key: key.map { "\($0).\(index)" }, parent: parent,
          body: bytes))
    }
    guard Set(orders.map(\.id)).count == orders.count else {
      throw HTTPFailure.invalid("two requests of the body have the same id")
    }
    return orders
  }

  private static func answers(to orders: [SubmissionOrder], _ call: Call) async throws -> [SubmissionResult] {
    let principal = call.claimedPrincipal
    let results = try await call.run { try await $0.submit(orders, by: principal) }
    guard results.count == orders.count else { throw HTTPFailure(500, "internal", "some submissions got no answer") }
    return results
  }

  private static func answer(to order: SubmissionOrder, _ result: SubmissionResult) throws -> Answer {
    let json = try receipt(order, result)
    guard case .accepted(let receipt, _, _) = result else { return Answer(json) }
    return Answer(json, .created, headers: [.location: "/v1/requests/\(receipt.identifier)/\(receipt.number)"])
  }

  private static func receipt(_ order: SubmissionOrder, _ result: SubmissionResult) throws(HTTPFailure) -> JSONValue {
    switch result {
    case .accepted(let receipt, let traceID, let warning): return JSONValue(receipt, order, traceID, warning)
    case .refused(_, let message) where message == Refusal.usedID(order.id).message:
      throw HTTPFailure(409, "conflict", message)
    case .refused(let code, let message): throw HTTPFailure(refusal: code, message)
    }
  }

  @Sendable private static func cancel(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    try await call.nothing()
    let principal = call.claimedPrincipal
    let cancelled = try await call.run { api in
      try await api.cancel(.identifier(identifier, number: number), by: principal)
    }
    return Answer(["cancelled": .array(cancelled.map { JSONValue($0) })])
  }

  @Sendable private static func retry(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    var body = try await call.object()
    let skips = try body.truth("skipBatch") ?? false
    let shard = try body.number("shard", in: 0...Int(Int32.max))
    let withNewDefinition = try body.truth("withNewDefinition") ?? false
    try body.finish()
    guard skips || shard == nil else {
      throw HTTPFailure.invalid("'shard' says which shard skips its batch: it needs 'skipBatch'")
    }
    let skipping: SkippedBatch = !skips ? .nothing : shard.map { .nextBatchOfShard($0) } ?? .nextBatch
    let record = try await call.run { api in
      try await api.retry(identifier, number: number, skipping: skipping, withNewDefinition: withNewDefinition)
    }
    return Answer(JSONValue(record))
  }

  @Sendable private static func setSpread(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    var body = try await call.object()
    guard let lanes = try body.number("spread", in: Definition.Limits.spread) else {
      throw HTTPFailure.invalid("the body needs the key 'spread': how many shards may be in work at once")
    }
    try body.finish()
    return Answer(
      JSONValue(try await call.run { try await $0.setSpread(identifier, number: number, lanes: lanes) }))
  }

  @Sendable private static func setPriority(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    var body = try await call.object()
    guard let priority = try priority(of: &body, "the body") else {
      throw HTTPFailure.invalid("the body needs the key 'priority', which is background, utility or userInitiated")
    }
    try body.finish()
    return Answer(
      JSONValue(try await call.run { try await $0.setPriority(identifier, number: number, priority) }))
  }

  /// The value of the key `priority`.
  fileprivate static func priority(of body: inout BodyObject, _ place: String) throws(HTTPFailure) -> Priority? {
    try body.text("priority").map { text throws(HTTPFailure) in
      guard let priority = Priority(name: text) else {
        throw .invalid("'priority' of \(place) has to be one of background, utility, userInitiated")
      }
      return priority
    }
  }

  private enum Simulation: String, CaseIterable { case launch, expire }

  @Sendable private static func simulate(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    var body = try await call.object()
    guard let what = try body.word("what", Simulation.self) else {
      throw HTTPFailure.invalid("the body needs the key 'what', which is launch or expire")
    }
    switch what {
    case .launch:
      let host = try body.text("host").map { text throws(HTTPFailure) in try Call.host(text) }
      try body.finish()
      if let host { try await checkKnown(host, call) }
      return Answer(
        JSONValue(try await call.run { try await $0.simulateLaunch(identifier, number: number, on: host) }))
    case .expire:
      let reason = try body.word("reason", ExpiryReason.Kind.self)
      guard reason != .simulated else {
        throw HTTPFailure.invalid("'simulated' is no reason to simulate: leave 'reason' out")
      }
      try body.finish()
      let launch = try await call.run { try await $0.simulateExpiry(identifier, number: number, as: reason) }
      return Answer(JSONValue(launch, as: reason))
    }
  }
}

extension Route {
  /// Refuses a host of the body that is not known. 404 would say that there is no such request.
  private static func checkKnown(_ host: HostName, _ call: Call) async throws {
    do {
      _ = try await one(host, call)
    } catch let failure as HTTPFailure where failure.status == 404 {
      throw HTTPFailure(409, "conflict", failure.message)
    }
  }
}

extension HTTPFailure {
  /// A submission that was refused with one of Apple's codes.
  init(refusal code: String, _ message: String) {
    let status = (Refusal.Kind(rawValue: code) ?? .unavailable).httpStatus
    let pause: Duration? = status == 503 ? Self.unavailableFor : status == 429 ? .seconds(1) : nil
    self.init(status, code, message, retryAfter: pause)
  }
}

extension SubmissionOrder {
  /// A submission as a caller has sent it.
  /// - Parameters:
  ///   - key: the id from the header `Idempotency-Key`; an id of the submission's own goes before it.
  ///   - body: the whole body, of which a payload is a part.
  init(
    _ tree: JSONTree, _ place: String, key: String?, parent: TraceContext?, body: [UInt8]
  ) throws(HTTPFailure) {
    var object = try BodyObject(tree, place)
    let name = try object.needed("identifier")
    guard let identifier = JobIdentifier(name) else {
      throw .invalid("'\(name.escapedForMessage)' in \(place) is not an identifier")
    }
    let payload = object.tree("payload").map { Array(body[$0.range]) }
    let earliest = try Self.earliest(try object.text("earliest"), place)
    let priority = try Route.priority(of: &object, place)
    let own = try object.text("id").map { text throws(HTTPFailure) in
      try Call.submissionID(text, "the id of \(place)")
    }
    try object.finish()
    let id = own ?? key ?? RandomNumbers.name()
    do { try WireLimits.payload.check(payload?.count ?? 0) } catch { throw .invalid("\(place): \(error.message)") }
    self.init(
      id: id, identifier: identifier, payload: payload, earliestBeginDate: earliest, priority: priority,
      parent: parent)
  }

  private static func earliest(_ text: String?, _ place: String) throws(HTTPFailure) -> EarliestBeginDate? {
    guard let text else { return nil }
    do { return try Values.earliestBeginDate(text) } catch { throw .invalid("'earliest' of \(place): \(error)") }
  }
}
