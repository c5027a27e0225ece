import BatonBase
import BatonHTTP
import BatonModel
import BatonStore
import GRPCCore
import HTTPTypes
import Hummingbird

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `POST /v1/pokes/IDENTIFIER` pokes a job. The body is the payload; `?priority=10` makes the launch ignore the
/// spacing of pokes; `Idempotency-Key` is the submission id, which a retry repeats. The call needs the scope `submit`,
/// and with priority 10 the scope `operate`.
struct PokeRoute: Sendable {
  let gate: Gate

  func add(to router: HTTPService.Routes) {
    router.post("/v1/pokes/:identifier") { request, context in
      let identifier = context.parameters.get("identifier") ?? ""
      return await self.answer(request, identifier, from: context.peer).response
    }
  }

  private func answer(_ request: Request, _ identifier: String, from peer: String) async -> PokeAnswer {
    do {
      let caller = try await gate.caller(showing: request.headers[.authorization], from: peer, calling: "Submit")
      try await gate.admit(
        caller, to: "Submit", isPermitted: caller.may(.submit), needed: "needs the scope 'submit'", isChange: true)
      if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > Submission.maximumPayloadBytes {
        return Self.tooLarge
      }
      let order = try await order(request, identifier)
      let api = PermittedAPI(
        api: gate.coordinator, caller: caller, audit: gate.coordinator.callAudit, meter: gate.coordinator.callMeter)
      let results = try await Caller.$current.withValue(caller) {
        try await api.submit([order], by: Self.claimedPrincipal(request))
      }
      guard let result = results.first else { return PokeAnswer(.internalServerError, "internal", "no answer") }
      return PokeAnswer(result)
    } catch let answer as PokeAnswer {
      return answer
    } catch let error as RPCError {
      return PokeAnswer(error)
    } catch let error as OperatorError {
      return PokeAnswer(RPCError(error))
    } catch {
      return PokeAnswer(.serviceUnavailable, "unavailable", "\(error)")
    }
  }

  /// The principal that the caller claims to be. It counts only for the coordinator's own user.
  private static func claimedPrincipal(_ request: Request) -> String {
    HTTPField.Name("Baton-Principal").flatMap { request.headers[$0] } ?? "http"
  }

  private func order(_ request: Request, _ name: String) async throws -> SubmissionOrder {
    guard let identifier = JobIdentifier(name) else {
      throw PokeAnswer(.badRequest, "invalid", "'\(name)' is not an identifier")
    }
    let priority = request.uri.queryParameters["priority"].map(String.init) ?? "5"
    guard let poke = Int(priority).flatMap(PokePriority.init) else {
      throw PokeAnswer(.badRequest, "invalid", "a poke has priority 5 or 10, not '\(priority)'")
    }
    let id = HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] } ?? RandomNumbers.name()
    guard (1...64).contains(id.utf8.count) else {
      throw PokeAnswer(.badRequest, "invalid", "an Idempotency-Key has 1 to 64 bytes")
    }
    let parent = HTTPField.Name("traceparent").flatMap { request.headers[$0] }.flatMap(TraceContext.init(traceparent:))
    return SubmissionOrder(
      id: id, identifier: identifier, payload: try await payload(request), poke: poke, parent: parent)
  }

  private func payload(_ request: Request) async throws -> [UInt8]? {
    do {
      let buffer = try await request.body.collect(upTo: Submission.maximumPayloadBytes)
      return buffer.readableBytes == 0 ? nil : Array(buffer.readableBytesView)
    } catch {
      throw Self.tooLarge
    }
  }

  private static let tooLarge = PokeAnswer(
    .contentTooLarge, "invalid", "a payload has at most \(Submission.maximumPayloadBytes) bytes: put it in a file")
}

/// The answer to a poke, as JSON. The codes are those of gRPC and of the command line.
private struct PokeAnswer: Error {
  var status: HTTPResponse.Status
  var body: Body

  struct Body: Encodable {
    var code: String?
    var message: String?
    var identifier: String?
    var request: Int?
    var state: String?
    var eligibleAt: String?
    var joined: Bool?
    var warning: String?
  }

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
    self.init(status: status, body: Body(code: code, message: message))
  }

  private init(status: HTTPResponse.Status, body: Body) {
    self.status = status
    self.body = body
  }

  init(_ error: RPCError) {
    self.init(error.httpStatus, error.meaningCode ?? "notPermitted", error.message)
  }

  init(_ result: SubmissionResult) {
    switch result {
    case .accepted(let receipt, _, let warning):
      let body = Body(
        identifier: receipt.identifier.rawValue, request: receipt.number, state: receipt.state.rawValue,
        eligibleAt: receipt.eligibleAt == .distantFuture ? nil : receipt.eligibleAt.text, joined: receipt.replaced,
        warning: warning)
      self.init(status: .accepted, body: body)
    case .refused(let code, let message):
      self.init(Self.status(of: code), code, message)
    }
  }

  private static func status(of code: String) -> HTTPResponse.Status {
    HTTPResponse.Status(code: (Refusal.Kind(rawValue: code) ?? .unavailable).httpStatus)
  }

  var response: Response {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let bytes = (try? encoder.encode(body)) ?? Data("{}".utf8)
    return Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: Array(bytes) + Array("\n".utf8))))
  }
}

extension Timestamp {
  /// RFC 3339 in UTC, to the second.
  fileprivate var text: String {
    Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).formatted(.iso8601)
  }
}
