import BatonModel
import BatonStore
import ContractRows
import HTTPTypes
import Testing

@testable import BatonAPI
@testable import BatonConsole
@testable import BatonCoordinator

/// Which requests to the console are answered. Each rule is there because of an attack.
@Suite("Console: rules") struct ConsoleRulesTests {
  @Test func `a code signs a browser in, and no page is shown before`() async {
    let world = ConsoleWorld()
    let before = await world.ask("GET /hosts?state=gone")
    #expect(before.status == 303 && before.location == "/login?to=%2Fhosts%3Fstate%3Dgone")
    #expect(await world.ask("GET /", headers: ["Sec-Fetch-Mode": "cors"]).status == 401, "a script gets no page")
    #expect(await world.ask("POST /fleet/pause", form: "").status == 401)
    let signedIn = await world.signIn()
    #expect(signedIn.status == 303 && signedIn.location == "/")
    let cookie = signedIn.headers[.setCookie] ?? ""
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] { #expect(cookie.contains(part), "\(part)") }
    #expect(await world.ask("GET /hosts").status == 200)
    #expect(world.coordinator.calls.allSatisfy { !$0.hasPrefix("pause") })
  }

  @Test(.refuses(43)) func `a code that was used, or a wrong one, signs no browser in`() async {
    let world = ConsoleWorld()
    let code = world.codes.issue(at: world.now)
    #expect(await world.ask("POST /login", form: "code=\(code)").status == 303)
    for _ in 0..<10 { #expect(await world.ask("POST /login", form: "code=\(code)").status == 401) }
    #expect(await world.ask("POST /login", form: "code=\(code)").status == 429, "too many were wrong")
    #expect(await world.signIn().status == 303, "a right one signs in nevertheless")
    world.wait(.seconds(61))
    #expect(await world.ask("POST /login", form: "code=\(code)").status == 401)
  }

  private static let elsewhere: [(site: String?, origin: String?, isOwn: Bool)] = [
    ("same-origin", nil, true), ("same-site", nil, false), ("cross-site", nil, false), ("none", nil, false),
    ("same-site", "http://baton-1.localhost:7430", false), (nil, nil, false), (nil, "null", false),
    (nil, "http://baton-1.localhost:7430", true), (nil, "http://baton-1.localhost:8000", false),
    (nil, "http://evil.example", false),
  ]

  @Test(.refuses(41), arguments: elsewhere)
  func `a change comes from the console's own pages`(_ one: (site: String?, origin: String?, isOwn: Bool)) async {
    let world = ConsoleWorld()
    await world.signIn()
    let headers = one.origin.map { ["Origin": $0] } ?? [:]
    let told = await world.ask("POST /fleet/pause", form: "", site: one.site, headers: headers)
    #expect(told.status == (one.isOwn ? 303 : 403))
    #expect(world.coordinator.calls.contains("paused true") == one.isOwn, "\(world.coordinator.calls)")
  }

  @Test(.refuses(42)) func `a page is for the console's own name, which no other program knows`() async {
    let world = ConsoleWorld()
    await world.signIn()
    for host in ["baton-1.localhost:7430", "baton-1.localhost:1", "baton-1.localhost"] {
      #expect(await world.ask("GET /hosts", host: host).status == 200, "\(host)")
    }
    for host in [
      "evil.example", "baton-1.localhost.evil.example", "127.0.0.1:7430", "xbaton-1.localhost", "", "[::1]:7430",
      "localhost:7430", "a.baton-1.localhost",
    ] {
      #expect(await world.ask("GET /hosts", host: host).status == 421, "\(host)")
    }
  }

  @Test(.refuses(43))
  func `an altered cookie, one of another console and one of a session that was ended are no session`() async {
    let world = ConsoleWorld()
    let cookie = await world.signIn().cookies[0]
    #expect(await world.ask("GET /hosts", cookies: [cookie]).status == 200)
    #expect(await world.ask("GET /hosts", cookies: ["other=1", cookie]).status == 200)
    #expect(await world.ask("GET /hosts", cookies: [String(cookie.dropLast()) + "z"]).status == 303)
    #expect(await world.ask("GET /hosts", cookies: ["x" + cookie]).status == 303)
    let out = await world.ask("POST /logout", form: "")
    #expect(out.status == 303 && out.location == "/login" && out.headers[.setCookie]?.contains("Max-Age=0") ?? false)
    #expect(await world.ask("GET /hosts", cookies: [cookie]).status == 303, "a stolen cookie is of no use any more")
  }

  @Test func `a session is renewed while it is used`() async {
    let world = ConsoleWorld()
    await world.signIn()
    #expect(await world.ask("GET /hosts").headers[.setCookie] == nil)
    world.wait(.seconds(2 * 3600))
    #expect(await world.ask("GET /hosts").headers[.setCookie] != nil)
    world.wait(.seconds(11 * 3600))
    #expect(await world.ask("GET /hosts").status == 303)
  }

  @Test func `the header Authorization signs no browser in`() async {
    let world = ConsoleWorld()
    #expect(await world.ask("GET /hosts", headers: ["Authorization": "own"]).status == 303)
  }

  @Test(.refuses(45)) func `a sign-in leads to a page of the console only`() async {
    for (to, place) in [
      ("/hosts?state=gone", "/hosts?state=gone"), ("//evil.example", "/"), ("/\\evil.example", "/"),
      ("https://evil.example", "/"), ("/a\nb", "/"), ("", "/"),
    ] {
      let world = ConsoleWorld()
      let encoded = to.utf8.map { "%" + (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
      let told = await world.ask("POST /login", form: "code=\(world.codes.issue(at: world.now))&to=\(encoded)")
      #expect(told.status == 303 && told.location == place, "\(to)")
    }
  }

  /// The path of each action, of things that the fake coordinator has.
  private static func actionPaths(_ console: Console) -> [String] {
    // A check of a definition changes nothing.
    console.routes.filter { $0.method == .post && $0.access != .anyone && $0.path != "/definitions/check" }.map {
      route in
      route.path.replacing("{identifier}", with: "com.example.photos.export.42").replacing("{number}", with: "3")
        .replacing("{host}", with: "alpha").replacing("{pattern}", with: "com.example.report")
    }
  }

  @Test func `a question changes nothing, and a console that is read-only asks none`() async {
    let world = ConsoleWorld([.running])
    await world.signIn()
    let paths = Self.actionPaths(world.console)
    #expect(paths.count > 12, "\(paths)")
    let changing = [
      "pause", "cancel", "retry", "submit", "drain", "evict", "remove", "apply", "simulate", "set", "forget",
    ]
    for path in paths {
      _ = await world.ask("GET \(path)")
      #expect(!world.coordinator.calls.contains { call in changing.contains { call.hasPrefix($0) } }, "\(path)")
    }
    let closed = ConsoleWorld([.running], isReadOnly: true)
    await closed.signIn()
    for path in paths {
      #expect([403, 404, 405].contains(await closed.ask("GET \(path)").status), "\(path)")
      #expect(await closed.ask("POST \(path)", form: "").status == 403, "\(path)")
    }
    #expect(!closed.coordinator.calls.contains { call in changing.contains { call.hasPrefix($0) } })
    #expect(!(await closed.ask("GET /").text.contains("/fleet/pause")))
  }

  @Test func `who may only read sees no buttons, and changes nothing`() async {
    let world = ConsoleWorld([.running], caller: .reader)
    await world.signIn()
    let page = await world.ask("GET /")
    #expect(page.status == 200 && !page.text.contains("/fleet/pause"))
    for path in Self.actionPaths(world.console) {
      #expect(await world.ask("POST \(path)", form: "").status == 403, "\(path)")
    }
  }

  @Test func `every answer tells the browser what it may do with it`() async {
    let world = ConsoleWorld()
    for told in [await world.ask("GET /login"), await world.ask("GET /nothing"), await world.ask("POST /x", site: nil)]
    {
      let policy = told.headers[.contentSecurityPolicy] ?? ""
      #expect(policy.hasPrefix("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"))
      #expect(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"))
      #expect(told.headers[.xContentTypeOptions] == "nosniff")
    }
  }
}

extension Caller {
  fileprivate static var reader: Caller {
    Caller(
      name: "rita",
      credential: Credential(
        id: Array(repeating: 1, count: 8), name: "rita", digest: [], scopes: [.read], end: now + .seconds(86_400),
        createdAt: now, createdBy: "ana"))
  }
}
