package import BatonCoordinator
package import BatonHTTP
import BatonJSON
import BatonModel
import HTTPTypes
import Hummingbird
import NIOCore

/// The HTTP API of a coordinator, which `Documentation/openapi.yaml` describes: calls of an `OperatorAPI` as JSON. Who
/// may call what is decided as for gRPC (`HTTPCalls`).
package struct HTTPAPI: Sendable {
  private let calls: HTTPCalls
  private let waits: Waits

  package init(_ calls: HTTPCalls) { (self.calls, waits) = (calls, Waits(most: calls.mostWaits)) }

  /// Adds the API of a coordinator to its server.
  @Sendable package static func serve(on router: HTTPService.Routes, _ calls: HTTPCalls) {
    HTTPAPI(calls).add(to: router)
  }

  /// Serves everything below `/v1`.
  package func add(to router: HTTPService.Routes) {
    for method in Self.methods {
      router.on("/v1/**", method: method) { request, context in
        await answer(request, in: context)
      }
    }
  }

  /// The methods that get an answer of the API, also if no route has them.
  private static let methods: [HTTPRequest.Method] =
    [.get, .head, .post, .put, .delete, .patch, .options, .trace] + ["QUERY"].compactMap { HTTPRequest.Method($0) }

  private func answer(_ request: Request, in context: HTTPContext) async -> Response {
    let asked = Asked(
      method: request.method, path: request.uri.path, query: request.uri.query ?? "", headers: request.headers,
      peer: context.peer)
    let answer: Answer
    if Self.route(asked).map(\.route.waits) ?? false {
      // A call that waits ends when its caller goes away; then this failure is not read.
      let gone = Answer(HTTPFailure(503, "unavailable", "the caller has gone away"))
      let answered = try? await context.whileConnected { await self.answer(asked) { _ in [] } }
      answer = answered ?? gone
    } else {
      answer = await self.answer(asked) { most in try await Self.body(of: request, most) }
    }
    return answer.response(isHead: request.method == .head, in: context)
  }

  private static func body(of request: Request, _ most: Int) async throws -> [UInt8] {
    let tooLarge = HTTPFailure(413, "invalid", "the body may have \(most) bytes")
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > most { throw tooLarge }
    do {
      return Array((try await request.body.collect(upTo: most)).readableBytesView)
    } catch is NIOTooManyBytesError {
      throw tooLarge
    }
  }

  /// What a request asks for.
  struct Asked: Sendable {
    var method: HTTPRequest.Method
    var path: String
    var query = ""
    var headers: HTTPFields = [:]
    var peer = "unix"

    /// The segments of the path; `nil` if they are not percent-encoded UTF-8, or if one is empty.
    fileprivate var segments: [String]? {
      let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
        String(part).percentDecoded()
      }
      let segments = parts.compactMap { $0 }
      return segments.count == parts.count && !segments.contains("") ? segments : nil
    }
  }

  private static func route(_ asked: Asked) -> (route: Route, values: [String: String])? {
    Route.all.at(asked.segments ?? []).first { $0.route.serves(asked.method) }
  }

  /// The answer to a request.
  /// - Parameter body: reads the body, at most so many bytes of it.
  func answer(_ asked: Asked, _ body: @escaping @Sendable (Int) async throws -> [UInt8]) async -> Answer {
    let found = Route.all.at(asked.segments ?? [])
    guard let (route, values) = Self.route(asked) else { return Self.unserved(asked, found.map(\.route)) }
    do {
      let permitted = try await admitted(route, asked)
      let query = try Query(asked.query, knowing: route.query)
      let call = Call(
        permitted: permitted, parameters: values, query: query, headers: asked.headers, body: body, calls: calls,
        waits: waits)
      let answer = try await route.answer(call)
      return route.method == .get ? answer.validated(against: asked.headers[.ifNoneMatch]) : answer
    } catch let failure as HTTPFailure {
      return Answer(failure)
    } catch {
      return Answer(HTTPFailure(503, "unavailable", "the call was cut off", retryAfter: .seconds(5)))
    }
  }

  private func admitted(_ route: Route, _ asked: Asked) async throws -> HTTPCall? {
    guard case .method(var method) = route.access else { return nil }
    // Any other notation of the parameter needs the scope of the change.
    if let rehearsal = route.rehearsal, asked.query.split(separator: "&").contains("dryRun=true") { method = rehearsal }
    return try await calls.admit(method, asked.headers[.authorization], asked.peer)
  }

  /// The answer where there is no such path, or no such method at it.
  private static func unserved(_ asked: Asked, _ routes: [Route]) -> Answer {
    guard !routes.isEmpty else {
      return Answer(HTTPFailure(404, "notFound", "there is no such path: /v1/openapi.yaml lists them"))
    }
    let methods = routes.map(\.method.rawValue) + (routes.contains { $0.method == .get } ? ["HEAD"] : [])
    var answer = Answer(
      HTTPFailure(405, "invalid", "this path is for \(methods.joined(separator: ", ")), not for '\(asked.method)'"))
    answer.headers[.allow] = methods.joined(separator: ", ")
    return answer
  }
}
