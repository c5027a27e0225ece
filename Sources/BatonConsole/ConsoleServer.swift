import BatonAPI
import BatonBase
import BatonCoordinator
import BatonHTTP
import BatonModel
import HTTPTypes
import Hummingbird

/// The rules for requests to the console: where they may come from, who is signed in, and what every answer says to the
/// browser.
struct ConsoleServer: Sendable {
  private let console: Console
  private let calls: HTTPCalls
  private let table: RouteTable

  init(_ console: Console, _ calls: HTTPCalls) {
    (self.console, self.calls) = (console, calls)
    table = RouteTable(
      console.routes, calls, unknown: "there is no such page", failed: { FailurePage.answer($0) })
  }

  func answer(_ request: Request, in context: HTTPContext) async -> Response {
    let answer = await answer(Asked(request, context), authority: request.head.authority) { asked in
      await table.answer(asked, request, in: context)
    }
    return answer.response(isHead: request.method == .head, in: context)
  }

  func answer(
    _ asked: Asked, authority: String?, _ body: @escaping @Sendable (Int) async throws -> [UInt8]
  ) async -> Answer {
    await answer(asked, authority: authority) { await table.answer($0, body) }
  }

  /// - Parameters:
  ///   - authority: the host and the port that the browser has asked for.
  ///   - serve: answers a request that may be answered.
  private func answer(_ asked: Asked, authority: String?, serve: (Asked) async -> Answer) async -> Answer {
    var asked = asked
    let now = calls.now()
    let session = session(of: asked, at: now)
    // A header of the browser proves nothing here: only the session does.
    asked.shown = session?.shown
    var answer: Answer
    if let refusal = refusal(asked, authority: authority) {
      answer = FailurePage.answer(refusal)
    } else {
      answer = await serve(asked)
      if answer.status == .unauthorized, asked.path != "/login" { answer = signIn(asked, answer) }
      if let session, let renewed = session.renewed(at: now), answer.status == .ok {
        answer.headers.append(HTTPField(name: .setCookie, value: console.cookie(of: renewed)))
      }
    }
    for (name, value) in Self.headers { answer.headers[name] = value }
    return answer
  }

  private func session(of asked: Asked, at now: Timestamp) -> ConsoleSession? {
    guard let cookie = asked.headers.cookie(console.seal.prefix), let session = console.seal.session(cookie),
      session.isValid(at: now), !console.ended.contains(session.id, at: now)
    else { return nil }
    switch (console.signIn, session.proof) {
    case (.codes, .own), (.credentials, .credential): return session
    default: return nil
    }
  }

  /// Where a person who is not signed in is sent. A browser that shows a page goes to the sign-in, and comes back.
  private func signIn(_ asked: Asked, _ failure: Answer) -> Answer {
    guard asked.method == .get, asked.headers[.init("Sec-Fetch-Mode")!] ?? "navigate" == "navigate" else {
      return failure
    }
    let place = asked.path + (asked.query.isEmpty ? "" : "?" + asked.query)
    let login = Link("login", query: [("to", place == "/" ? nil : place)])
    return Answer(body: .bytes([], type: ""), .seeOther, headers: [.location: login.text])
  }

  // MARK: Where requests may come from

  private func refusal(_ asked: Asked, authority: String?) -> HTTPFailure? {
    let host = authority ?? ""
    if case .codes(_, let name) = console.signIn, host.prefix(while: { $0 != ":" }) != name {
      return HTTPFailure(
        421, "invalid",
        "the console is not at '\(host.escapedForMessage)': its address is what baton console, or baton up, has printed"
      )
    }
    guard asked.method != .get, asked.method != .head else { return nil }
    let refusal = HTTPFailure(
      403, "notPermitted", "another site may have sent this change, so nothing was changed: use the console's own pages"
    )
    if let site = asked.headers[Self.fetchSite] { return site == "same-origin" ? nil : refusal }
    guard let origin = asked.headers[.origin] else { return refusal }
    return origin == "http://\(host)" || origin == "https://\(host)" ? nil : refusal
  }

  private static let fetchSite = HTTPField.Name("Sec-Fetch-Site")!

  // MARK: What browsers are told

  private static let policy =
    ["default-src 'none'"]
    + ["script-src", "style-src", "img-src", "connect-src", "form-action"].map { "\($0) 'self'" }
    + ["frame-ancestors 'none'", "base-uri 'none'"]

  private static let headers: [(HTTPField.Name, String)] = [
    (.contentSecurityPolicy, policy.joined(separator: "; ")),
    (.xContentTypeOptions, "nosniff"),
    (HTTPField.Name("Referrer-Policy")!, "no-referrer"),
    (HTTPField.Name("Cross-Origin-Opener-Policy")!, "same-origin"),
    (HTTPField.Name("Cross-Origin-Resource-Policy")!, "same-origin"),
  ]
}
