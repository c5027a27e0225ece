import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonWire
import ContractRows
import HostFixtures
import Testing
import X509

@testable import BatonCoordinator

/// HTTPS of a coordinator that listens, as programs elsewhere use it.
@Suite("HTTPS", .timeLimit(.minutes(10)))
struct HTTPSTests {
  private static func ask(
    _ place: ServedFleet, _ path: String, _ method: String = "GET", token: String? = nil,
    headers: [(String, String)] = [], body: String? = nil, root: Certificate? = nil
  ) async throws -> HTTPSRequest.Answer {
    var request = HTTPSRequest(path, method: method, token: token, body: body)
    request.headers += headers
    return try await request.send(
      to: FleetAuthority.coordinatorName(place.authority.fleet), port: place.https.port,
      trusting: try (root ?? place.authority.root).pem)
  }

  /// What may be asked, the scopes that permit it, and the status if they do.
  private static let routes: [(path: String, method: String, scopes: Set<Scope>, status: UInt)] = [
    ("/metrics", "GET", [.read, .operate, .admin, .metrics], 200),
    ("/v1/pokes/com.example.a", "POST", [.submit, .operate, .admin], 202),
    ("/v1/pokes/com.example.a?priority=10", "POST", [.operate, .admin], 202),
  ]

  @Test("Each route permits exactly the scopes of the matrix; health needs none", .refuses(18, 23))
  func matrix() async throws {
    try await ServedFleet.serving(clocks: StandingClock().clocks) { place in
      try await place.job("com.example.a")
      for path in ["/healthz", "/readyz"] { #expect(try await Self.ask(place, path).status == 200) }
      for scope in Scope.allCases {
        let token = "Bearer \(try await place.credential("only-\(scope.rawValue)", [scope]))"
        for route in Self.routes {
          let answer = try await Self.ask(place, route.path, route.method, token: token)
          let expected = route.scopes.contains(scope) ? route.status : 403
          #expect(answer.status == expected, "\(route.path) as \(scope): \(answer)")
        }
      }
      let now = SystemClocks.date()
      let known = try await place.credential("known", [.admin])
      let wrong: [String?] = [
        nil, "", "Bearer ", "Bearer \(place.token)", "\(known)", "Basic \(known)", "Bearer \(known)0",
        "Bearer \(try CredentialToken(id: known.id, secret: CredentialToken().secret))",
        "Bearer \(place.credential("late", [.admin], until: now + .seconds(-1)))",
      ]
      for token in wrong {
        for route in Self.routes {
          let answer = try await Self.ask(place, route.path, route.method, token: token)
          #expect(answer.status == 401 || answer.status == 429, "\(String(describing: token)): \(answer)")
          #expect(!answer.text.contains("baton_"))
        }
      }
      #expect(try await Self.ask(place, "/metrics", token: wrong[1]).status == 429, "ten wrong ones in a minute")
    }
  }

  @Test(
    "A credential with patterns pokes what they cover, and reads no metrics, which name every definition",
    .refuses(19, 21))
  func patterns() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.mine")
      try await place.job("com.example.other")
      let token = "Bearer \(try await place.credential("alice", [.submit, .read], patterns: ["com.example.mine"]))"
      func poke(_ name: String) async throws -> HTTPSRequest.Answer {
        try await Self.ask(
          place, "/v1/pokes/\(name)", "POST", token: token, headers: [("Baton-Principal", "root")], body: "news")
      }
      #expect(try await poke("com.example.mine").status == 202)
      let (other, none) = (try await poke("com.example.other"), try await poke("com.example.none"))
      #expect(other.status == none.status && other.text.replacing("other", with: "none") == none.text, "\(other)")
      #expect(try await Self.ask(place, "/metrics", token: token).status == 403)
      let record = try await place.coordinator.details(JobIdentifier("com.example.mine")!, number: nil).record
      #expect(record.principal == "alice", "what a caller says about itself counts for nothing")
      #expect(try await place.audit().contains("alice Submit com.example.mine done"))
    }
  }

  @Test(
    "No form of the Host header opens a route or closes one", .refuses(36),
    arguments: ["127.0.0.1", "evil.example", "[::1]:80", "evil.example@127.0.0.1", "0127.0.0.1", "localhost", "a b"])
  func hostHeader(host: String) async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.a")
      let token = "Bearer \(try await place.credential("prometheus", [.metrics, .operate]))"
      for route in Self.routes {
        for (token, status) in [(token, route.status), ("Bearer x", 401), (nil, 401)] {
          let answer = try await Self.ask(place, route.path, route.method, token: token, headers: [("Host", host)])
          #expect(answer.status == status, "\(route.path): \(answer)")
        }
      }
      for path in ["/healthz", "/readyz"] {
        let answer = try await Self.ask(place, path, headers: [("Host", host)])
        #expect(answer.status == 200 && !answer.text.contains("baton_"), "\(answer)")
      }
    }
  }

  @Test("A client with another root does not speak with the coordinator, and nothing answers without TLS", .refuses(6))
  func otherRoot() async throws {
    try await ServedFleet.serving { place in
      let stranger = try FleetAuthority(at: SystemClocks.date()).root
      await #expect(throws: (any Error).self) { _ = try await Self.ask(place, "/healthz", root: stranger) }
      let plain = try RawConnection(port: place.https.port)
      plain.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
      let answer = await plain.untilClosed()
      // At most an alert of TLS (RFC 8446, section 6).
      #expect(answer.isEmpty || answer[0] == 21, "\(answer)")
    }
  }
}
