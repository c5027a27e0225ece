package import BatonCoordinator
package import BatonHTTP
package import HTTPTypes
package import Hummingbird
import NIOCore

/// What a request asks for.
package struct Asked: Sendable {
  package var method: HTTPRequest.Method
  package var path: String
  package var query = ""
  package var headers: HTTPFields = [:]
  /// Where the request comes from, as gRPC writes it.
  package var peer = "unix"
  /// What the caller shows to prove who it is, as in the header `Authorization`.
  package var shown: String?

  package init(
    method: HTTPRequest.Method, path: String, query: String = "", headers: HTTPFields = [:], peer: String = "unix"
  ) {
    (self.method, self.path, self.query, self.headers, self.peer) = (method, path, query, headers, peer)
    shown = headers[.authorization]
  }

  package init(_ request: Request, _ context: HTTPContext) {
    self.init(
      method: request.method, path: request.uri.path, query: request.uri.query ?? "", headers: request.headers,
      peer: context.peer)
  }

  /// The segments of the path; `nil` if they are not percent-encoded UTF-8, or if one is empty.
  fileprivate var segments: [String]? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { part in
      String(part).percentDecoded()
    }
    let segments = parts.compactMap { $0 }
    if segments == [""] { return [] }
    return segments.count == parts.count && !segments.contains("") ? segments : nil
  }
}

/// Answers requests with the routes of a list: it finds the route, lets the caller in and reads the query.
package struct RouteTable: Sendable {
  private let routes: [Route]
  private let calls: HTTPCalls
  private let waits: Waits
  private let unknown: String
  private let failed: @Sendable (HTTPFailure) -> Answer

  /// - Parameters:
  ///   - unknown: what is said of a path that no route has.
  ///   - failed: how a failure is told.
  package init(
    _ routes: [Route], _ calls: HTTPCalls, unknown: String, failed: @escaping @Sendable (HTTPFailure) -> Answer
  ) {
    (self.routes, self.calls, self.unknown, self.failed) = (routes, calls, unknown, failed)
    waits = Waits(most: calls.mostWaits)
  }

  /// The methods that get an answer, also if no route has them.
  package static let methods: [HTTPRequest.Method] =
    [.get, .head, .post, .put, .delete, .patch, .options, .trace] + ["QUERY"].compactMap { HTTPRequest.Method($0) }

  package func response(to asked: Asked, _ request: Request, in context: HTTPContext) async -> Response {
    await answer(asked, request, in: context).response(isHead: request.method == .head, in: context)
  }

  package func answer(_ asked: Asked, _ request: Request, in context: HTTPContext) async -> Answer {
    guard route(asked).map(\.route.waits) ?? false else {
      return await answer(asked) { most in try await Self.body(of: request, most) }
    }
    // A call that waits ends when its caller goes away; then this failure is not read.
    let gone = failed(HTTPFailure(503, "unavailable", "the caller has gone away"))
    let answered = try? await context.whileConnected { await answer(asked) { _ in [] } }
    return answered ?? gone
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

  private func route(_ asked: Asked) -> (route: Route, values: [String: String])? {
    asked.segments.flatMap { routes.at($0).first { $0.route.serves(asked.method) } }
  }

  /// The answer to a request.
  /// - Parameter body: reads the body, at most so many bytes of it.
  package func answer(
    _ asked: Asked, _ body: @escaping @Sendable (Int) async throws -> [UInt8]
  ) async -> Answer {
    guard let (route, values) = route(asked) else {
      return unserved(asked, asked.segments.map { routes.at($0).map(\.route) } ?? [])
    }
    do {
      let permitted = try await admitted(route, asked)
      let query = try Query(asked.query, knowing: route.query, repetitions: route.repetitions)
      let call = Call(
        permitted: permitted, parameters: values, query: query, headers: asked.headers, peer: asked.peer, body: body,
        calls: calls,
        waits: waits)
      let answer = try await route.answer(call)
      return route.method == .get ? answer.validated(against: asked.headers[.ifNoneMatch]) : answer
    } catch let failure as HTTPFailure {
      return failed(failure)
    } catch {
      return failed(HTTPFailure(503, "unavailable", "the call was cut off", retryAfter: .seconds(5)))
    }
  }

  private func admitted(_ route: Route, _ asked: Asked) async throws -> HTTPCall? {
    guard case .method(var method) = route.access else { return nil }
    // Any other notation of the parameter needs the scope of the change.
    if let rehearsal = route.rehearsal, asked.query.split(separator: "&").contains("dryRun=true") { method = rehearsal }
    return try await calls.admit(method, asked.shown, asked.peer)
  }

  /// The answer where there is no such path, or no such method at it.
  private func unserved(_ asked: Asked, _ routes: [Route]) -> Answer {
    guard !routes.isEmpty else {
      return failed(HTTPFailure(404, "notFound", unknown))
    }
    let methods = routes.map(\.method.rawValue) + (routes.contains { $0.method == .get } ? ["HEAD"] : [])
    var answer = failed(
      HTTPFailure(405, "invalid", "this path is for \(methods.joined(separator: ", ")), not for '\(asked.method)'"))
    answer.headers[.allow] = methods.joined(separator: ", ")
    return answer
  }
}
