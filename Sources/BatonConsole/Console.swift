import BatonAPI
import BatonBase
package import BatonCoordinator
package import BatonHTTP
import BatonModel
import HTTPTypes
import Hummingbird

/// The console: pages for operators, made of the answers of an `OperatorAPI`, with the actions that the commands have.
/// It works without JavaScript; with it, pages follow what changes, and questions open above the page.
package struct Console: Sendable {
  /// How people sign in.
  package enum SignIn: Sendable {
    /// With a code that the process of the console has shown. Calls are those of the person who started it. Only
    /// requests for this host are answered.
    case codes(OneTimeCodes, host: String)
    /// With a credential, over TLS.
    case credentials
  }

  let signIn: SignIn
  /// Whether there are no actions.
  let isReadOnly: Bool
  /// Whom requests name as their submitter, if calls do not prove another name.
  let principal: String
  /// The address of the tracing backend, in which `{traceId}` stands for the id of a trace; `nil` if there is none.
  let traceURL: String?
  let seal: SessionSeal
  let ended = EndedSessions()
  let attempts = SignInAttempts()
  /// The first page, for each credential: it looks at the whole fleet.
  let overviews = Shared<[UInt8], Overview>()
  /// Which hosts could take requests, for each credential: every definition is compared with every host.
  let able = Shared<AbleKey, AbleHosts>(for: .seconds(10))

  /// - Parameter secret: 32 bytes from which the keys of the sessions are made. Sessions end when it changes.
  package init(
    _ signIn: SignIn, isReadOnly: Bool = false, principal: String, traceURL: String? = nil, secret: [UInt8]
  ) {
    (self.signIn, self.isReadOnly, self.principal) = (signIn, isReadOnly, principal)
    // The address becomes a link, which must lead to a page.
    let isPage = traceURL.map { url in ["http://", "https://"].contains { url.hasPrefix($0) } } ?? false
    self.traceURL = isPage ? traceURL : nil
    seal = SessionSeal(secret: secret)
  }

  /// 32 random bytes, for a console whose sessions end with its process.
  package static func secret() -> [UInt8] { ConsoleSession.random(32) }

  /// Adds the console to a server.
  package func add(to router: HTTPService.Routes, _ calls: HTTPCalls) {
    let server = ConsoleServer(self, calls)
    for path in ["/", "/**"] {
      for method in RouteTable.methods {
        router.on(RouterPath(path), method: method) { request, context in await server.answer(request, in: context) }
      }
    }
  }

  /// Every page and action.
  var routes: [Route] {
    signInRoutes + assetRoutes + overviewRoutes + requestRoutes + flowRoutes + queueRoutes + hostRoutes
      + definitionRoutes + scheduleRoutes + notificationRoutes + activityRoutes + helpRoutes
      + [Route(.get, "/changes", .method("Changes"), waits: true, Route.follow)]
  }

  // MARK: Making routes

  /// A page.
  /// - Parameters:
  ///   - method: the method of gRPC whose callers may see it.
  ///   - query: the parameters that it reads.
  func page(
    _ path: String, _ method: String, query: [String] = [], _ body: @escaping @Sendable (Visit) async throws -> Page
  ) -> Route {
    Route(.get, path, .method(method), query: query) { call in
      let visit = Visit(call: call, console: self)
      return Answer(visit.document(try await body(visit)))
    }
  }

  /// The page of an action, which asks, and the action itself.
  func action(_ action: Action) -> [Route] {
    let access = Route.Access.method(action.method)
    return [
      Route(.get, action.path, access, query: action.fields, repetitions: Question.mostAtOnce) { call in
        try checkMayChange()
        let visit = Visit(call: call, console: self)
        let question = try await action.question(visit, call.query)
        return Answer(visit.document(question.page(action: visit.path(of: action))))
      },
      Route(.post, action.path, access) { call in
        try checkMayChange()
        let visit = Visit(call: call, console: self)
        // Encoded for a form, a payload has up to three times its bytes.
        let form = try await visit.form(action.fields + ["count"], most: 4 * Call.largestSmallBody)
        let question = try await action.question(visit, form)
        do {
          try question.checkCount(form)
          let outcome = try await action.perform(visit, form)
          return visit.seeOther(outcome.page, telling: outcome)
        } catch let failure as HTTPFailure where [400, 409, 413].contains(failure.status) {
          // The person corrects what was typed, or goes back to where the question came from.
          let page = question.page(action: visit.path(of: action), failure: failure.message)
          return Answer(visit.document(page), HTTPResponse.Status(code: failure.status))
        }
      },
    ]
  }

  func checkMayChange() throws(HTTPFailure) {
    guard isReadOnly else { return }
    throw HTTPFailure(403, "notPermitted", "this console is read-only: it was started with --read-only")
  }
}

/// What is shown on a page.
struct Page: Sendable {
  /// The parts of the console, as the navigation shows them.
  enum Section: String, CaseIterable, Sendable {
    case overview, requests, queue, hosts, definitions, schedules, notifications, activity
  }

  var title: String
  var section: Section?
  /// The page is fetched again when one of these changes; empty for a page that does not change by itself.
  var topics: [ChangeTopic] = []
  /// Whether the browser fetches the page again by itself after some seconds.
  var reloads = false
  var main: HTML
}

/// What can be done on the console: a question about what will happen, and the change.
struct Action: Sendable {
  /// The path of the question and of the change.
  var path: String
  /// The method of gRPC whose callers may do it.
  var method: String
  /// The fields of its form.
  var fields: [String] = []
  var question: @Sendable (Visit, Query) async throws -> Question
  var perform: @Sendable (Visit, Query) async throws -> Outcome
}

/// What a person is asked before something is changed.
struct Question: Sendable {
  /// What the action is, such as "Cancel com.example.report #1".
  var title: String
  /// What will happen, to how many, and where.
  var text: HTML
  /// Inputs, and hidden ones for what was selected.
  var fields = HTML.empty
  /// What the button says.
  var button: String
  /// How many things it concerns. Above `mostUntyped` the person has to type the number.
  var count = 1
  /// Whether it ends or removes something.
  var isDangerous = false
  /// Where to go back to.
  var back: Link

  static let mostUntyped = 20

  /// The most requests that are changed at once.
  static let mostAtOnce = 100

  func checkCount(_ form: Query) throws(HTTPFailure) {
    guard count > Self.mostUntyped, try form.text("count") != "\(count)" else { return }
    throw .invalid("this concerns \(count): type the number \(count) to confirm it; nothing was changed")
  }

  /// - Parameter failure: why the change could not be made.
  func page(action path: String, failure: String? = nil) -> Page {
    let confirmation: HTML =
      count > Self.mostUntyped
      ? """
      <label>Type <strong>\(count)</strong> to confirm
      <input name="count" inputmode="numeric" autocomplete="off" required pattern="\(count)"></label>
      """ : ""
    let main: HTML = """
      <form id="question" class="question" method="post" action="\(path)">
      <h1>\(title)</h1>
      \(failure.map { "<p class=\"failure\" role=\"alert\">\($0)</p>" })
      <div>\(text)</div>
      \(fields)\(confirmation)
      <p class="buttons"><button class="\(isDangerous ? "danger" : "primary")">\(button)</button>
      <a class="button" href="\(back)" data-close>Back</a></p>
      </form>
      """
    return Page(title: title, main: main)
  }
}

/// What was done.
struct Outcome: Sendable {
  /// What was done, for the person, in one sentence.
  var text: String
  /// The page that shows it.
  var page: Link
  /// What would take it back, and where.
  var undo: (label: String, link: Link)?
}
