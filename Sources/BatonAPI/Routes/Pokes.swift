import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import HTTPTypes

extension Route {
  /// `POST /v1/pokes/IDENTIFIER` pokes a job. The body is the payload, of any type; `?priority=10` makes the launch
  /// ignore the spacing of pokes; `Idempotency-Key` is the submission id, which a retry repeats. Priority 10 needs the
  /// scope `operate`.
  static let pokes = [Route(.post, "/v1/pokes/{identifier}", .method("Submit"), query: ["priority"], poke)]

  @Sendable private static func poke(_ call: Call) async throws -> Answer {
    let identifier = try call.identifier
    let priority = try call.query.text("priority") ?? "5"
    guard let poke = Int(priority).flatMap(PokePriority.init) else {
      throw HTTPFailure.invalid("a poke has priority 5 or 10, not '\(priority.escapedForMessage)'")
    }
    let id = try call.idempotencyKey ?? RandomNumbers.name()
    let order = SubmissionOrder(
      id: id, identifier: identifier, payload: try await payload(call), poke: poke,
      parent: call.header("traceparent").flatMap(TraceContext.init(traceparent:)))
    let principal = call.claimedPrincipal
    guard let result = try await call.run({ try await $0.submit([order], by: principal) }).first else {
      throw HTTPFailure(500, "internal", "the submission got no answer")
    }
    return try answer(to: result)
  }

  private static func payload(_ call: Call) async throws -> [UInt8]? {
    do {
      let bytes = try await call.body(Submission.maximumPayloadBytes)
      return bytes.isEmpty ? nil : bytes
    } catch let failure as HTTPFailure where failure.status == 413 {
      throw HTTPFailure(
        413, "invalid", "a payload has at most \(Submission.maximumPayloadBytes) bytes: put it in a file")
    }
  }

  /// A poke leaves out what it has nothing to say about; that is older than the rest of the API.
  private static func answer(to result: SubmissionResult) throws -> Answer {
    switch result {
    case .refused(let code, let message): throw HTTPFailure(refusal: code, message)
    case .accepted(let receipt, _, let warning):
      var members: [JSONValue.Member] = []
      if receipt.eligibleAt != .distantFuture {
        members.append(.init(key: "eligibleAt", value: JSONValue(receipt.eligibleAt.utc)))
      }
      members += [
        .init(key: "identifier", value: JSONValue(receipt.identifier.rawValue)),
        .init(key: "joined", value: .bool(receipt.replaced)),
        .init(key: "request", value: JSONValue(receipt.number)),
        .init(key: "state", value: JSONValue(receipt.state.rawValue)),
      ]
      if let warning { members.append(.init(key: "warning", value: JSONValue(warning))) }
      return Answer(.object(members), .accepted)
    }
  }
}
