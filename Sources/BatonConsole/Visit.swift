import BatonAPI
import BatonBase
import BatonCoordinator
import BatonModel
import HTTPTypes

/// One look at a page: who looks, and with what.
struct Visit: Sendable {
  let call: Call
  let console: Console

  var now: Timestamp { call.now }
  var query: Query { call.query }

  /// Who has signed in; `nil` on pages for everybody.
  var caller: Caller? { call.permitted?.caller }

  /// What tells people apart who may see different things.
  var key: [UInt8] { caller?.credential?.id ?? [] }

  /// Whom requests name as their submitter, if the call does not prove another name.
  var principal: String { console.principal }

  /// Makes calls as the person.
  func run<Result: Sendable>(_ body: @Sendable (any OperatorAPI) async throws -> Result) async throws -> Result {
    try await call.run(body)
  }

  /// Whether the person may carry out a change, as far as the scopes of the credential go. Buttons of other changes
  /// are not shown.
  func may(_ method: String) -> Bool {
    guard !console.isReadOnly, let caller else { return false }
    return HTTPCalls.permits(method, to: caller)
  }

  /// A button that opens the question of an action; nothing if the person may not carry it out.
  func button(_ label: String, _ link: Link, _ method: String, isDangerous: Bool = false) -> HTML {
    guard may(method) else { return "" }
    return "<a class=\"button\(isDangerous ? " danger" : "")\" href=\"\(link)\" data-dialog>\(label)</a>"
  }

  /// The path of an action with the parameters of this call.
  func path(of action: Action) -> String {
    "/"
      + action.path.split(separator: "/").map { part in
        part.hasPrefix("{")
          ? String(Link(call.parameter(String(part.dropFirst().dropLast()))).text.dropFirst()) : String(part)
      }.joined(separator: "/")
  }

  /// The form of a change.
  /// - Throws: an `HTTPFailure` with the status 415 or 413, or 400 if it has other fields.
  func form(_ fields: [String], most: Int = Call.largestSmallBody) async throws -> Query {
    try call.checkType(["application/x-www-form-urlencoded"])
    return try Query(
      String(decoding: try await call.body(most), as: UTF8.self), knowing: fields, most: most,
      repetitions: Question.mostAtOnce)
  }

  // MARK: Notices

  private static let notice = "notice"

  /// Sends the browser to a page, which tells for a while what was done. Other pages do not, because browsers send the
  /// cookie to this one only.
  func seeOther(_ page: Link, telling outcome: Outcome? = nil) -> Answer {
    var answer = Answer(body: .bytes([], type: ""), .seeOther, headers: [.location: page.text])
    if let outcome {
      let path = page.text.prefix { $0 != "?" && $0 != "#" }
      let text = ([outcome.text.onOneLine] + (outcome.undo.map { [$0.label, $0.link.text] } ?? [])).joined(
        separator: "\n")
      answer.headers[.setCookie] =
        "\(console.seal.prefix)_notice=\(console.seal.seal(Array(text.utf8), for: Self.notice)); Path=\(path); HttpOnly; "
        + "SameSite=Strict; Max-Age=10"
    }
    return answer
  }

  /// What was done just now; nothing if nothing was.
  var notice: HTML {
    guard let cookie = call.headers.cookie("\(console.seal.prefix)_notice"),
      let bytes = console.seal.open(cookie, for: Self.notice)
    else { return "" }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    let undo: HTML =
      parts.count == 3
      ? " <a class=\"button\" href=\"\(parts[2])\" data-dialog>\(parts[1])</a>" : ""
    return "<div class=\"notice\" role=\"status\"><p>\(parts.first ?? "")\(undo)</p></div>"
  }
}

extension HTTPFields {
  /// The value of a cookie (RFC 6265, section 4.2); `nil` if the browser has sent none with this name.
  func cookie(_ name: String) -> Substring? {
    for header in self[values: .cookie] {
      for pair in header.split(separator: ";") {
        let text = pair.drop { $0 == " " }
        if text.hasPrefix(name + "=") { return text.dropFirst(name.count + 1) }
      }
    }
    return nil
  }
}
