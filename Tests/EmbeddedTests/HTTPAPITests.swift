import BatonBase
import BatonIdentity
import BatonJSON
import BatonModel
import BatonStore
import BatonWire
import ContractRows
import Foundation
import HTTPTypes
import HostFixtures
import Synchronization
import Testing

@testable import BatonAPI
@testable import BatonCoordinator

/// The HTTP API on a coordinator with credentials. What gRPC permits, it permits, and nothing else.
@Suite("HTTP API", .timeLimit(.minutes(10)))
struct HTTPAPITests {
  private struct Told: Sendable {
    var status: Int
    var text: String
    var headers: HTTPFields
  }

  private static func calls(of place: ServedFleet) -> HTTPCalls {
    let door = Door(DescriptorBudget(limit: 1024).http, what: "test", logger: Fleet.quiet)
    return HTTPCalls(
      Gate(proof: .credentials(place.identities.credentials), coordinator: place.coordinator, door: door), mostWaits: 4)
  }

  private static func ask(
    _ place: ServedFleet, _ method: HTTPRequest.Method, _ path: String, query: String = "", token: String?,
    body: String = "", headers more: HTTPFields = [:]
  ) async -> Told {
    var headers = more
    if let token { headers[.authorization] = token }
    if !body.isEmpty, headers[.contentType] == nil { headers[.contentType] = "application/json" }
    let asked = Asked(
      method: method, path: path, query: query, headers: headers, peer: "ipv4:192.0.2.7:50312")
    let answer = await HTTPAPI(calls(of: place)).answer(asked) { _ in Array(body.utf8) }
    guard case .bytes(let bytes, _) = answer.body else {
      return Told(status: answer.status.code, text: "", headers: answer.headers)
    }
    return Told(status: answer.status.code, text: String(decoding: bytes, as: UTF8.self), headers: answer.headers)
  }

  private typealias Identity = MethodMatrix.Identity

  @Test("Each route permits exactly the identities that the matrix of gRPC has for its method", .refuses(18, 23))
  func permits() async throws {
    var rates = CallRates()
    (rates.failures, rates.changes, rates.submissions) = (100_000, 100_000, 100_000)
    try await ServedFleet.serving(rates: rates) { place in
      let now = SystemClocks.date()
      let known = try await place.credential("known", [.admin])
      for identity in Identity.allCases {
        let authorization: String? =
          switch identity {
          case .nobody: nil
          case .wrongToken: "Bearer \(try CredentialToken(id: known.id, secret: CredentialToken().secret))"
          case .ownersToken: "Bearer \(place.token)"
          case .ended: "Bearer \(place.credential("late", [.admin], until: now + .seconds(-1)))"
          case .revoked: try await Self.revoked(at: place)
          case .read, .logs, .submit, .operate, .define, .admin, .metrics:
            "Bearer \(try await place.credential("one", [Scope(rawValue: identity.rawValue)!]))"
          }
        for route in Route.all {
          guard case .method(let method) = route.access else { continue }
          let path = route.path.replacing(/\{\w+\}/, with: "1")
          let told = await Self.ask(place, route.method, path, token: authorization)
          let isPermitted = try #require(MethodMatrix.table["Operators/\(method)"]).contains(identity)
          // A credential with the scope may still be refused for what the call concerns.
          let isRefused = told.status == 401 || told.status == 403 && told.text.contains("has the scopes")
          #expect(isRefused != isPermitted, "\(route.method) \(path) as \(identity): \(told)")
        }
        let rehearsal = await Self.ask(
          place, .put, "/v1/definitions", query: "dryRun=true", token: authorization, body: "[]")
        #expect(
          [401, 403].contains(rehearsal.status) != MethodMatrix.table["Operators/AbleHosts"]!.contains(identity),
          "a rehearsal as \(identity): \(rehearsal)")
      }
    }
    #expect(MethodMatrix.table["Operators/SimulateLaunch"] == MethodMatrix.table["Operators/SimulateExpiry"])
  }

  private static func revoked(at place: ServedFleet) async throws -> String {
    let token = try await place.credential("gone", [.admin])
    _ = try await place.coordinator.revokeCredential("gone")
    return "Bearer \(token)"
  }

  @Test(
    "A credential with patterns sees and changes what they cover, and the rest does not exist for it", .refuses(19, 21))
  func patterns() async throws {
    try await ServedFleet.serving { place in
      for name in ["com.mine.a", "com.other.a"] { try await place.job(name) }
      let token = "Bearer \(try await place.credential("alice", [.operate, .define], patterns: ["com.mine.*"]))"
      let list = await Self.ask(place, .get, "/v1/requests", token: token)
      #expect(list.text.contains("com.mine.a") && !list.text.contains("com.other.a"), "\(list)")
      for end in ["", "/explain", "/trace", "/logs", "/wait", "/shards"] {
        let other = await Self.ask(place, .get, "/v1/requests/com.other.a\(end)", token: token)
        let none = await Self.ask(place, .get, "/v1/requests/com.nobody.a\(end)", token: token)
        #expect(other.status == 404 && other.text.replacing("other", with: "nobody") == none.text, "\(end): \(other)")
      }
      for (method, path, status) in [
        (HTTPRequest.Method.post, "/v1/requests/com.other.a/cancel", 404),
        (.delete, "/v1/definitions/com.other.a", 404),
        (.post, "/v1/fleet/pause", 403), (.post, "/v1/hosts/desk/drain", 403),
      ] {
        let told = await Self.ask(place, method, path, token: token)
        #expect(told.status == status, "\(path): \(told)")
      }
      let foreign = await Self.ask(
        place, .put, "/v1/definitions", token: token, body: #"{"identifier": "com.other.b", "kind": "processing"}"#)
      let definitions = try await place.coordinator.definitions(named: [])
      #expect(foreign.status == 403 && definitions.count == 2, "\(foreign)")
      let record = try await place.coordinator.details(JobIdentifier("com.other.a")!, number: nil).record
      #expect(!record.state.isEnded)
      #expect(try await place.audit().contains("alice Cancel com.other.a denied"))
    }
  }

  @Test("A submission that is repeated has one request, and the same answer")
  func idempotency() async throws {
    try await ServedFleet.serving { place in
      _ = try await place.coordinator.apply([ServedFleet.definition("com.example.*")])
      let token = "Bearer \(try await place.credential("alice", [.submit]))"
      var headers: HTTPFields = [:]
      headers[HTTPField.Name("Idempotency-Key")!] = "nightly"
      headers[HTTPField.Name("Baton-Principal")!] = "root"
      let (first, second) = (
        await Self.ask(
          place, .post, "/v1/requests", token: token, body: #"{"identifier": "com.example.a"}"#, headers: headers),
        await Self.ask(
          place, .post, "/v1/requests", token: token, body: #"{"identifier": "com.example.a"}"#, headers: headers)
      )
      #expect(first.status == 201 && first.text == second.text && second.status == 201, "\(first) \(second)")
      let other = await Self.ask(
        place, .post, "/v1/requests", token: token, body: #"{"identifier": "com.example.b"}"#, headers: headers)
      #expect(other.status == 409, "\(other)")
      let records = try await place.coordinator.requests(RequestFilter(), after: nil, limit: 10)
      #expect(records.map(\.identifier.rawValue) == ["com.example.a"] && records[0].principal == "alice")
      #expect(try await place.audit().contains("alice Submit com.example.a done"))
    }
  }

  @Test("Changes and submissions have the rates of gRPC, and say when to come back")
  func rates() async throws {
    var rates = CallRates()
    (rates.changes, rates.submissions) = (2, 2)
    try await ServedFleet.serving(rates: rates, clocks: StandingClock().clocks) { place in
      _ = try await place.coordinator.apply([ServedFleet.definition("com.example.*")])
      let token = "Bearer \(try await place.credential("alice", [.submit, .operate]))"
      let body = "[" + Array(repeating: #"{"identifier": "com.example.a"}"#, count: 11).joined(separator: ",") + "]"
      _ = await Self.ask(place, .post, "/v1/requests", token: token, body: body)
      let many = await Self.ask(place, .post, "/v1/requests", token: token, body: body)
      #expect(many.status == 429 && many.headers[.retryAfter] != nil, "\(many)")
      for _ in 0..<3 { _ = await Self.ask(place, .post, "/v1/fleet/pause", token: token) }
      let change = await Self.ask(place, .post, "/v1/fleet/pause", token: token)
      #expect(change.status == 429 && change.headers[.retryAfter] == "1", "\(change)")
    }
  }

  @Test("What changes is told to those who may know of it, until the coordinator shuts down")
  func changes() async throws {
    try await ServedFleet.serving { place in
      _ = try await place.coordinator.apply([
        ServedFleet.definition("com.mine.*"), ServedFleet.definition("com.other.*"),
      ])
      let token = "Bearer \(try await place.credential("alice", [.read], patterns: ["com.mine.*"]))"
      let call = try await Self.calls(of: place).admit("Changes", token, "ipv4:192.0.2.7:50312")
      let heard = Mailbox<ChangeTopic>(capacity: 1000)
      let listening = Task {
        try await call.run { api in try await api.changes { heard.send(contentsOf: Array($0)) } }
      }
      let mine = ChangeTopic.request(JobIdentifier("com.mine.a")!)
      let other = ChangeTopic.request(JobIdentifier("com.other.a")!)
      #expect(await heard.receive() == [.everything], "a listener knows nothing yet")
      for name in ["com.other.a", "com.mine.a"] {
        let order = SubmissionOrder(id: name, identifier: JobIdentifier(name)!)
        _ = try await place.coordinator.submit([order], by: "ben")
      }
      var topics: Set<ChangeTopic> = []
      while !topics.contains(mine), let more = await heard.receive() { topics.formUnion(more) }
      #expect(topics.isSuperset(of: [mine, .requests, .overview]) && !topics.contains(other), "\(topics)")
      _ = try await place.coordinator.apply([ServedFleet.definition("com.mine.*"), ServedFleet.definition("com.new")])
      while !topics.contains(.definitions), let more = await heard.receive() { topics.formUnion(more) }
      #expect(topics.contains(.definitions))
      place.coordinator.stopAccepting()
      try await listening.value
    }
  }

  @Test("A call that lasts ends with its credential")
  func revocation() async throws {
    try await ServedFleet.serving { place in
      try await place.job("com.example.a")
      let token = "Bearer \(try await place.credential("alice", [.read]))"
      let call = try await Self.calls(of: place).admit("Watch", token, "ipv4:192.0.2.7:50312")
      let waiting = Task {
        try await call.runWhileValid { api in
          try await api.watch(JobIdentifier("com.example.a")!, number: nil) { _ in }
        }
      }
      _ = try await place.coordinator.revokeCredential("alice")
      let failure = await #expect(throws: HTTPFailure.self) { try await waiting.value }
      #expect(failure?.status == 401)
    }
  }

  @Test("Over HTTPS, with HEAD, streams, a long poll and a large body")
  func https() async throws {
    try await ServedFleet.serving { place in
      let token = "Bearer \(try await place.credential("ana", [.admin]))"
      let name = FleetAuthority.coordinatorName(place.authority.fleet)
      func ask(
        _ path: String, _ method: String = "GET", body: String? = nil, type: String = "application/json"
      )
        async throws -> HTTPSRequest.Answer
      {
        var request = HTTPSRequest(path, method: method, token: token, body: body)
        if body != nil { request.headers.append(("content-type", type)) }
        return try await request.send(to: name, port: place.https.port, trusting: try place.authority.root.pem)
      }
      let job = "identifier: com.example.a\nkind: processing\nwork: {command: ['true']}\n"
      let padding = String(repeating: "# padding\n", count: 50_000)
      let applied = try await ask("/v1/definitions", "PUT", body: job + padding, type: "application/yaml")
      #expect(applied.status == 200, "\(applied)")
      let submitted = try await ask("/v1/requests", "POST", body: #"{"identifier": "com.example.a"}"#)
      #expect(submitted.status == 201, "\(submitted)")
      let head = try await ask("/v1/requests", "HEAD")
      #expect(head.status == 200 && head.text.isEmpty, "\(head)")
      #expect(try await ask("/healthz", "HEAD").status == 200)
      let waited = try await ask("/v1/requests/com.example.a/wait?timeout=10ms")
      #expect(waited.status == 200 && waited.text.contains(#""state":"ready""#), "\(waited)")
      let waiting = Task { try await ask("/v1/requests/com.example.a/wait?timeout=5m") }
      _ = try await ask("/v1/requests/com.example.a/cancel", "POST")
      #expect(try await waiting.value.text.contains(#""state":"cancelled""#))
      #expect(try await ask("/v1/requests/com.example.a/logs").status == 200)
      let large = try await ask("/v1/requests", "POST", body: String(repeating: " ", count: (4 << 20) + 1))
      #expect(large.status == 413, "\(large)")
      #expect(try await ask("/v1/openapi.yaml").text.hasPrefix("openapi: 3.1.0"))
    }
  }
}
