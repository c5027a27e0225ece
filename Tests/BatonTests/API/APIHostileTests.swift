import BatonModel
import BatonStore
import Foundation
import HTTPTypes
import Testing

@testable import BatonAPI
@testable import BatonCoordinator

/// What callers of the HTTP API may send that is wrong.
@Suite("HTTP API: hostile input") struct APIHostileTests {
  private struct Wrong: Sendable {
    var line: String
    var body: [UInt8]
    var type: String?
    var status: Int
    /// What the message has to name.
    var names: String

    init(_ line: String, _ status: Int, _ names: String) { self.init(line, "", status, names) }

    init(_ line: String, _ body: String, type: String? = "application/json", _ status: Int, _ names: String) {
      (self.line, self.body, self.type, self.status, self.names) = (line, Array(body.utf8), type, status, names)
    }
  }

  private static let requests: [Wrong] = [
    Wrong("GET /v1/none", 404, "openapi.yaml"), Wrong("GET /v1/requests/", 404, "openapi.yaml"),
    Wrong("GET /v1//requests", 404, "openapi.yaml"), Wrong("GET /v1/%zz", 404, "openapi.yaml"),
    Wrong("GET /v1/requests/a/b/c/d", 404, "openapi.yaml"),
    Wrong("DELETE /v1/requests", 405, "GET, POST, HEAD"), Wrong("POST /v1/queue", 405, "GET, HEAD"),
    Wrong("TRACE /v1/queue", 405, "GET, HEAD"),
    Wrong("GET /v1/requests?limits=3", 400, "'limits'"), Wrong("GET /v1/queue?limit=1", 400, "'limit'"),
    Wrong("GET /v1/requests?limit=0", 400, "'limit'"), Wrong("GET /v1/requests?limit=1001", 400, "'limit'"),
    Wrong("GET /v1/requests?limit=1&limit=2", 400, "'limit' is given 2 times"),
    Wrong("GET /v1/requests?limit=9999999999999999999999", 400, "'limit'"),
    Wrong("GET /v1/requests?state=done", 400, "'state'"), Wrong("GET /v1/requests?pattern=..", 400, "'..'"),
    Wrong("GET /v1/requests?since=yesterday", 400, "'since'"),
    Wrong("GET /v1/requests?order=oldest&since=1h", 400, "'since'"),
    Wrong("GET /v1/requests?host=%00", 400, "NUL"), Wrong("GET /v1/requests?host=%ff", 400, "percent-encoded"),
    Wrong("GET /v1/requests?host=a%1bb", 400, "a host's name"),
    Wrong("GET /v1/requests?obstacles=yes", 400, "'obstacles'"),
    Wrong("GET /v1/requests?after=x", 400, "'after'"),
    Wrong("GET /v1/requests?a=" + String(repeating: "x", count: 17 << 10), 400, "the query"),
    Wrong("GET /v1/requests?" + Array(repeating: "state=ready", count: 200).joined(separator: "&"), 400, "the query"),
    Wrong("GET /v1/requests/com..a", 400, "identifier"), Wrong("GET /v1/requests/com.a/0", 400, "number"),
    Wrong("GET /v1/requests/com.a/x", 400, "number"), Wrong("GET /v1/requests/%00", 400, "identifier"),
    Wrong("GET /v1/requests/com.a/wait?timeout=6m", 400, "'timeout'"),
    Wrong("GET /v1/requests/com.a/wait?timeout=soon", 400, "'timeout'"),
    Wrong("GET /v1/requests/com.a/logs?shard=-1", 400, "'shard'"),
    Wrong("GET /v1/requests/com.a/trace?format=xml", 400, "'format'"),
    Wrong("GET /v1/hosts?state=broken", 400, "'state'"), Wrong("GET /v1/hosts?label==x", 400, "'label'"),
    Wrong("GET /v1/hosts?" + Array(repeating: "label=a", count: 33).joined(separator: "&"), 400, "more than 32 times"),
    Wrong("GET /v1/hosts/none", 404, "none"),
    Wrong("GET /v1/hosts/" + String(repeating: "h", count: 64), 400, "1 to 63"),
    Wrong("DELETE /v1/definitions/a.*.b", 400, "'a.*.b'"), Wrong("GET /v1/definitions/com.none", 404, "com.none"),
    Wrong("POST /v1/requests", 415, "application/json"),
    Wrong("POST /v1/requests", "{}", type: nil, 415, "application/json"),
    Wrong("POST /v1/requests", "{}", type: "application/x-www-form-urlencoded", 415, "application/json"),
    Wrong("POST /v1/requests", "{\n  \"a\"\n}", 400, "line 3, column 1"),
    Wrong("POST /v1/requests", "3", 400, "a number"), Wrong("POST /v1/requests", "[]", 400, "empty"),
    Wrong("POST /v1/requests", "{}", 400, "'identifier'"),
    Wrong("POST /v1/requests", #"{"identifier": 3}"#, 400, "a text"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "identifer": "x"}"#, 400, "'identifer'"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "identifier": "com.b"}"#, 400, "twice"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a\u0000"}"#, 400, "NUL"),
    Wrong("POST /v1/requests", #"{"identifier": "com.*"}"#, 400, "com.*"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "id": null}"#, 400, "null"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "id": ""}"#, 400, "1 to 64"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "id": "a\nb"}"#, 400, "visible"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "id": "\#(String(repeating: "i", count: 65))"}"#, 400, "64"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "earliest": "soon"}"#, 400, "'earliest'"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "priority": "high"}"#, 400, "'priority'"),
    Wrong(
      "POST /v1/requests", #"[{"identifier": "com.a", "id": "x"}, {"identifier": "com.b", "id": "x"}]"#, 400, "same id"),
    Wrong("POST /v1/requests", #"[{"identifier": "com.a"}, 3]"#, 400, "request 1 of the body"),
    Wrong(
      "POST /v1/requests", #"{"identifier": "com.a", "payload": "\#(String(repeating: "x", count: 65_536))"}"#, 400,
      "payload"),
    Wrong(
      "POST /v1/requests", "[" + Array(repeating: #"{"identifier": "a"}"#, count: 1001).joined(separator: ",") + "]",
      400, "1000"),
    Wrong("POST /v1/requests", String(repeating: "[", count: 100_000), 400, "nested"),
    Wrong("POST /v1/requests", #"{"identifier": "com.a", "payload": "\ud83d"}"#, 400, "surrogates"),
    Wrong("POST /v1/requests", String(repeating: " ", count: (4 << 20) + 1), 413, "bytes"),
    Wrong("POST /v1/requests/com.a/cancel", #"{"all": true}"#, 400, "'all'"),
    Wrong("POST /v1/requests/com.a/cancel", "[]", 400, "an object"),
    Wrong("POST /v1/requests/com.a/cancel", String(repeating: " ", count: (64 << 10) + 1), 413, "bytes"),
    Wrong("POST /v1/requests/com.a/retry", #"{"shard": 1}"#, 400, "skipBatch"),
    Wrong("POST /v1/requests/com.a/retry", #"{"skipBatch": "yes"}"#, 400, "'skipBatch'"),
    Wrong("POST /v1/requests/com.a/spread", "{}", 400, "'spread'"),
    Wrong("POST /v1/requests/com.a/spread", #"{"spread": 0}"#, 400, "from 1 to 1024"),
    Wrong("POST /v1/requests/com.a/spread", #"{"spread": 1025}"#, 400, "from 1 to 1024"),
    Wrong("POST /v1/requests/com.a/spread", #"{"spread": 2, "lanes": 2}"#, 400, "'lanes'"),
    Wrong("POST /v1/requests/com.a/priority", "{}", 400, "'priority'"),
    Wrong("POST /v1/requests/com.a/priority", #"{"priority": "urgent"}"#, 400, "'priority' of the body"),
    Wrong("POST /v1/requests/com.a/simulate", "{}", 400, "'what'"),
    Wrong("POST /v1/requests/com.a/simulate", #"{"what": "launch", "reason": "thermal"}"#, 400, "'reason'"),
    Wrong("POST /v1/requests/com.a/simulate", #"{"what": "launch", "host": "none"}"#, 409, "no host 'none'"),
    Wrong("POST /v1/hosts/a/simulate", "{}", 400, "a condition"),
    Wrong("POST /v1/hosts/a/simulate", #"{"end": true, "power": "battery"}"#, 400, "a condition"),
    Wrong("POST /v1/hosts/a/simulate", #"{"battery": 101}"#, 400, "'battery'"),
    Wrong("POST /v1/hosts/a/simulate", #"{"thermal": "warm"}"#, 400, "'thermal'"),
    Wrong("POST /v1/hosts/a/simulate", #"{"idle": true, "for": "25h"}"#, 400, "'for'"),
    Wrong("POST /v1/hosts/a/evict", "{}", 400, "'identifier'"),
    Wrong("PUT /v1/definitions", "a: b", type: "text/plain", 415, "application/yaml"),
    Wrong("PUT /v1/definitions", "{", 400, "not JSON"),
    Wrong("PUT /v1/definitions?dryRun=1", "a: b", type: "application/yaml", 400, "'dryRun'"),
    Wrong("PUT /v1/definitions", "", type: "application/yaml", 415, "application/yaml"),
    Wrong("POST /v1/pokes/com.a?priority=7", "x", 400, "priority 5 or 10"),
    Wrong("POST /v1/pokes/com.a", String(repeating: "x", count: (64 << 10) + 1), 413, "65536"),
  ]

  @Test func `each mistake gets an error that names it, and changes nothing`() async throws {
    for wrong in Self.requests {
      let world = APIWorld([RequestRecord.running])
      let told = await world.ask(wrong.line, wrong.body, type: wrong.type)
      #expect(told.status == wrong.status, "\(wrong.line.prefix(100)): \(told.text)")
      let object = try JSONSerialization.jsonObject(with: Data(told.text.utf8)) as? [String: String]
      #expect(object?["message"]?.contains(wrong.names) == true, "\(wrong.line.prefix(100)): \(told.text)")
      #expect(object?["code"] != nil && told.text.utf8.count < 1000)
      #expect(world.coordinator.orders.isEmpty)
    }
  }

  @Test func `text that is not UTF-8 is no JSON and no job file`() async {
    let world = APIWorld()
    let bytes: [UInt8] = Array(#"{"identifier": "com."#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8)
    #expect(await world.ask("POST /v1/requests", bytes).status == 400)
    #expect(await world.ask("PUT /v1/definitions", bytes).status == 400)
    #expect(await world.ask("PUT /v1/definitions", bytes, type: "application/yaml").status == 422)
    #expect(world.coordinator.calls.isEmpty)
  }

  @Test func `an error has no character that acts on a terminal`() async {
    let told = await APIWorld().ask("GET /v1/requests?%1b%5d0;x%07=1")
    #expect(told.status == 400 && told.text.dropLast().unicodeScalars.allSatisfy(\.isPrintable), "\(told)")
  }

  @Test func `without a credential each route answers alike, whatever else is wrong`() async {
    for route in Route.all where route.access != .anyone {
      let path = route.path.replacing(/\{\w+\}/, with: "1")
      let told = await APIWorld().ask("\(route.method.rawValue) \(path)?wrong=1", Array("x".utf8), token: "Bearer bad")
      #expect(told.status == 401 && told.header("WWW-Authenticate") == "Bearer", "\(path): \(told)")
    }
  }

  @Test func `the errors of a coordinator have their statuses`() async {
    let errors: [(any Error, Int, pause: String?)] = [
      (OperatorError.notFound("none"), 404, nil), (OperatorError.conflict("not now"), 409, nil),
      (OperatorError.invalid("wrong"), 400, nil), (OperatorError.notPermitted("no"), 403, nil),
      (OperatorError.overloaded("full", retryAfter: .milliseconds(1500)), 429, "2"),
      (OperatorError.refused(.unavailable("it is shutting down")), 503, "5"), (OperatorError.unknown("disk"), 500, nil),
      (StoreError(.overloaded, "full"), 429, "1"), (CancellationError(), 503, "5"),
    ]
    for (error, status, pause) in errors {
      let told = await APIWorld { $0.errors = [error] }.ask("GET /v1/queue")
      #expect(told.status == status && told.header("Retry-After") == pause, "\(error): \(told)")
    }
  }
}
