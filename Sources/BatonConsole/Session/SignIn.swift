import BatonAPI
import BatonBase
import BatonCoordinator
import BatonModel
import HTTPTypes
import Synchronization

/// Sessions that were ended before their time. A cookie that was stolen before is then of no use.
final class EndedSessions: Sendable {
  private static let most = 10_000

  private let ids = Mutex<[[UInt8]: Timestamp]>([:])

  func end(_ session: ConsoleSession, at now: Timestamp) {
    ids.withLock { ids in
      if ids.count >= Self.most { ids = ids.filter { now < $0.value } }
      // With so many in 12 hours, the oldest are forgotten first.
      if ids.count >= Self.most, let oldest = ids.min(by: { $0.value < $1.value }) { ids[oldest.key] = nil }
      ids[session.id] = now + ConsoleSession.lifetime
    }
  }

  func contains(_ id: [UInt8], at now: Timestamp) -> Bool { ids.withLock { $0[id].map { now < $0 } ?? false } }
}

/// Bounds how often something wrong is tried in a minute. What is right is let in nevertheless, so that strangers
/// cannot keep anybody out.
final class SignInAttempts: Sendable {
  private static let most = 10

  private let wrong = Mutex<[Timestamp]>([])

  /// - Throws: an `HTTPFailure`, which says whether too many were wrong.
  func noteWrong(at now: Timestamp, _ message: String) throws(HTTPFailure) -> Never {
    let count = wrong.withLock { wrong in
      wrong = wrong.suffix(Self.most).filter { now < $0 + .seconds(60) && $0 <= now } + [now]
      return wrong.count
    }
    guard count <= Self.most else {
      throw HTTPFailure(429, "overloaded", "too many sign-ins failed: try again in a minute", retryAfter: .seconds(60))
    }
    throw HTTPFailure(401, "notPermitted", message)
  }
}

extension Console {
  var signInRoutes: [Route] {
    [
      Route(.get, "/login", .anyone, query: ["to"]) { call in
        let visit = Visit(call: call, console: self)
        return Answer(visit.document(signInPage(to: try place(call.query))))
      },
      Route(.post, "/login", .anyone) { call in try await signIn(Visit(call: call, console: self)) },
      Route(.post, "/logout", .anyone) { call in
        if let cookie = call.headers.cookie(seal.prefix), let session = seal.session(cookie) {
          ended.end(session, at: call.now)
        }
        var answer = Visit(call: call, console: self).seeOther(Link("login"))
        answer.headers[.setCookie] = "\(seal.prefix)=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0\(secure)"
        return answer
      },
    ]
  }

  /// The page to show after the sign-in: a path of this console.
  private func place(_ query: Query) throws(HTTPFailure) -> String? {
    guard let to = try query.text("to") else { return nil }
    // A path that begins with two slashes, or a slash and a backslash, names another server.
    let isPath = to.hasPrefix("/") && !to.dropFirst().hasPrefix("/") && !to.contains("\\")
    return isPath && to.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? to : nil
  }

  private func signInPage(to place: String?) -> Page {
    let input: HTML =
      switch signIn {
      case .codes:
        """
        <p>Run <code>baton console</code> on the machine from which you use Baton, as yourself: it opens this page with a
        code that signs you in. Or type the code here: it is the part behind the <code>#</code> of the line that
        <code>baton console --print</code> shows, is valid for a minute and can be used once.</p>
        <label>Code <input id="code" name="code" autocomplete="off" spellcheck="false" required></label>
        """
      case .credentials:
        """
        <p>Show your credential, which begins with <code>bt1_</code>. An operator with the scope <code>admin</code> makes
        one with <code>baton credential create</code>.</p>
        <label>Credential <input id="code" name="credential" type="password" autocomplete="off" required></label>
        """
      }
    return Page(
      title: "Sign in",
      main: """
        <form class="question" id="login" method="post" action="/login">
        <h1>Sign in</h1>
        \(input)
        <input type="hidden" name="to" value="\(place ?? "/")">
        <p class="buttons"><button class="primary">Sign in</button></p>
        </form>
        """)
  }

  private func signIn(_ visit: Visit) async throws -> Answer {
    let form = try await visit.form(["code", "credential", "to"])
    let proof: ConsoleSession.Proof
    switch signIn {
    case .codes(let codes, _):
      guard let code = try form.text("code"), codes.redeem(code.filter { !$0.isWhitespace }, at: visit.now) else {
        try attempts.noteWrong(
          at: visit.now, "this code is not valid (any more): run baton console again, which shows a new one")
      }
      proof = .own
    case .credentials:
      let token = (try form.text("credential") ?? "").filter { !$0.isWhitespace }
      // The gate of the coordinator bounds wrong credentials, and writes them to the audit log.
      _ = try await visit.call.calls.admit("WhoAmI", "Bearer \(token)", visit.call.peer)
      proof = .credential(token)
    }
    var answer = visit.seeOther(Link())
    if let place = try place(form) { answer.headers[.location] = place }
    answer.headers[.setCookie] = cookie(of: ConsoleSession(proof, at: visit.now))
    return answer
  }

  /// The header that gives a browser its session.
  func cookie(of session: ConsoleSession) -> String {
    "\(seal.prefix)=\(seal.cookie(of: session)); Path=/; HttpOnly; SameSite=Strict; "
      + "Max-Age=\(ConsoleSession.lifetime.components.seconds)\(secure)"
  }

  private var secure: String { if case .credentials = signIn { "; Secure" } else { "" } }
}
