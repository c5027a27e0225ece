import BatonBase
import BatonModel
import BatonStore
import HTTPTypes
import Synchronization

@testable import BatonAPI
@testable import BatonConsole
@testable import BatonCoordinator

/// A console on a fake coordinator, and the browser of a person.
final class ConsoleWorld: Sendable {
  struct Told: Sendable {
    var status: Int
    var text: String
    var headers: HTTPFields

    /// The answer's cookies, as a browser sends them back.
    var cookies: [String] { headers[values: .setCookie].map { String($0.prefix { $0 != ";" }) } }
    var location: String? { headers[.location] }
  }

  private final class Wall: Sendable {
    let time = Mutex(BatonTests.now)
  }

  let coordinator: FakeCoordinator
  let codes = OneTimeCodes()
  let console: Console
  private let server: ConsoleServer
  private let wall = Wall()
  private let jar = Mutex<[String]>([])

  /// - Parameter caller: whom the coordinator takes the person for.
  init(
    _ requests: [RequestRecord] = [], isReadOnly: Bool = false, caller: Caller = Caller(name: "ana"),
    _ change: (inout FakeCoordinator.State) -> Void = { _ in }
  ) {
    let coordinator = FakeCoordinator(requests, change)
    self.coordinator = coordinator
    console = Console(
      .codes(codes, host: "baton-1.localhost"), isReadOnly: isReadOnly, principal: "ana",
      secret: Array(repeating: 7, count: 32))
    let clocks = Clocks(
      instant: { Instant(nanoseconds: 0) }, sleep: { _ in await World.never() },
      date: { [wall] in wall.time.withLock { $0 } })
    server = ConsoleServer(console, OwnCalls.calls({ (coordinator, caller) }, clocks))
  }

  var now: Timestamp { wall.time.withLock { $0 } }

  func wait(_ duration: Duration) { wall.time.withLock { $0 = $0 + duration } }

  /// Signs in, and keeps the session as a browser does.
  @discardableResult func signIn() async -> Told {
    let told = await ask("POST /login", form: "code=\(codes.issue(at: now))")
    jar.withLock { $0 = told.cookies }
    return told
  }

  func signedIn() async -> ConsoleWorld {
    await signIn()
    return self
  }

  /// - Parameters:
  ///   - line: method and address, such as `GET /hosts?state=gone`.
  ///   - form: the body; `nil` for none.
  ///   - site: the header `Sec-Fetch-Site`; `nil` for a browser that sends none.
  ///   - cookies: what the browser sends; `nil` for its session.
  func ask(
    _ line: String, form: String? = nil, host: String = "baton-1.localhost:7430", site: String? = "same-origin",
    cookies: [String]? = nil, headers more: [String: String] = [:]
  ) async -> Told {
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    let parts = words[1].split(separator: "?", maxSplits: 1).map(String.init)
    var headers: HTTPFields = [:]
    if form != nil { headers[.contentType] = "application/x-www-form-urlencoded" }
    if let site { headers[HTTPField.Name("Sec-Fetch-Site")!] = site }
    let sent = cookies ?? jar.withLock { $0 }
    if !sent.isEmpty { headers[.cookie] = sent.joined(separator: "; ") }
    for (name, value) in more { headers[HTTPField.Name(name)!] = value }
    let asked = Asked(
      method: HTTPRequest.Method(words[0])!, path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: headers)
    let body = Array((form ?? "").utf8)
    let answer = await server.answer(asked, authority: host) { most in
      guard body.count <= most else { throw HTTPFailure(413, "invalid", "the body may have \(most) bytes") }
      return body
    }
    guard case .bytes(let bytes, _) = answer.body else {
      return Told(status: answer.status.code, text: "", headers: answer.headers)
    }
    return Told(status: answer.status.code, text: String(decoding: bytes, as: UTF8.self), headers: answer.headers)
  }
}
