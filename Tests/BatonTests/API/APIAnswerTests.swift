import BatonModel
import BatonStore
import Foundation
import Synchronization
import Testing

@testable import BatonAPI
@testable import BatonCoordinator
@testable import BatonJSON

/// What the routes of the HTTP API answer.
@Suite("HTTP API: answers") struct APIAnswerTests {
  private static let requests: [RequestRecord] = [.running, .ready, .scheduled, .succeeded]

  private static func object(_ text: String) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
  }

  private static func value(_ text: String) throws -> NSObject {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed) as? NSObject)
  }

  @Test func `what a command prints as JSON, the API answers`() async throws {
    let pairs: [(command: [String], route: String, key: String?)] = [
      (["show", "com.example.photos.export.42", "--request", "3"], "/v1/requests/com.example.photos.export.42/3", nil),
      (["list", "--all"], "/v1/requests?obstacles=true", "requests"),
      (["explain", "com.example.gpu"], "/v1/requests/com.example.gpu/explain", nil),
      (["hosts"], "/v1/hosts", "hosts"), (["hosts", "--summary"], "/v1/hosts", "summary"),
      (["hosts", "alpha"], "/v1/hosts/alpha", nil), (["queue"], "/v1/queue", nil),
      (["status"], "/v1/overview", nil), (["coordinators"], "/v1/coordinators", "coordinators"),
      (["namespaces"], "/v1/namespaces", "namespaces"), (["transfers"], "/v1/transfers", "transfers"),
      (["notifications"], "/v1/notifications", "notifications"), (["limits"], "/v1/limits", "limits"),
      (["definitions"], "/v1/definitions", "definitions"), (["audit"], "/v1/audit", "rows"),
    ]
    for pair in pairs {
      let api = APIWorld(Self.requests) { Self.fill(&$0) }
      let command = await World(Self.requests) { Self.fill(&$0) }.baton(pair.command + ["-o", "json"])
      let told = await api.ask("GET \(pair.route)")
      #expect(told.status == 200, "\(pair.route): \(told.text)")
      let answer = try Self.object(told.text)
      let part = pair.key.map { answer[$0] as? NSObject } ?? answer
      let printed = try Self.value(command.output)
      #expect(part == printed, "\(pair.route) and \(pair.command)")
    }
  }

  private static func fill(_ state: inout FakeCoordinator.State) {
    state.hosts = [.alpha, .beta]
    state.namespaces = .example
    var facts = JobNotification(id: "9f2c-3-1", event: .failure, at: "2026-11-28T02:00:07.250Z")
    (facts.identifier, facts.request, facts.reason) = (JobIdentifier("com.example.report"), 3, "no disk")
    var report = NotificationReport(receiver: ReceiverName("ops")!, facts: facts, attempts: 2)
    (report.error, report.nextAt) = ("HTTP 503", now.nanoseconds)
    state.notifications.waiting = [report]
    (report.nextAt, report.failedAt) = (nil, now.nanoseconds)
    state.notifications.failed = [report]
    state.limits = [
      LimitRecord(key: LimitKey(.concurrency, "customer/acme"), setting: .concurrency(2), running: 2, waiting: 7),
      LimitRecord(
        key: LimitKey(.rate, "api/example"), last: .rate(StartRate(limit: 100, per: .seconds(60), burst: 20)),
        nextAt: now),
    ]
    var definition = Definition(pattern: IdentifierPattern(trusted: "com.example.report"), kind: .processing)
    definition.title = "Report"
    state.reports = [DefinitionReport(definition: definition, appliedAt: now)]
    state.explanation.record = .ready
  }

  @Test func `a list goes on after its last element`() async throws {
    let world = APIWorld(Self.requests)
    var (names, after): ([String], String?) = ([], nil)
    repeat {
      let told = await world.ask("GET /v1/requests?limit=2\(after.map { "&after=\($0)" } ?? "")")
      let page = try Self.object(told.text)
      names += try #require(page["requests"] as? [NSDictionary]).compactMap { $0["identifier"] as? String }
      after = page["next"] as? String
    } while after != nil
    #expect(names == Self.requests.sorted { $1.id < $0.id }.map(\.identifier.rawValue))
  }

  @Test func `an answer that the caller has is not sent again, and another one is`() async throws {
    let world = APIWorld(Self.requests)
    let first = await world.ask("GET /v1/requests")
    let tag = try #require(first.header("ETag"))
    for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
      let again = await world.ask("GET /v1/requests", headers: ["If-None-Match": known])
      #expect(again.status == 304 && again.text.isEmpty && again.header("ETag") == tag, "\(known)")
    }
    world.coordinator.state.withLock { _ = $0.requests.removeLast() }
    let changed = await world.ask("GET /v1/requests", headers: ["If-None-Match": tag])
    #expect(changed.status == 200 && changed.header("ETag") != tag)
  }

  @Test func `a submission has the id of its header, or its own`() async throws {
    let world = APIWorld()
    let one = await world.ask(
      "POST /v1/requests", #"{"identifier": "com.a", "payload": {"n": 1.50, "t": "\u00e9"}, "priority": "utility"}"#,
      headers: ["Idempotency-Key": "key"])
    #expect(one.status == 201 && one.header("Location") == "/v1/requests/com.a/1", "\(one)")
    let body = #"[{"identifier": "com.a"}, {"identifier": "com.b"}]"#
    let more = await world.ask("POST /v1/requests", body, headers: ["Idempotency-Key": "key"])
    let answers = try Self.object(more.text)["answers"] as? [NSDictionary]
    #expect(more.status == 200 && answers?.count == 2, "\(more)")
    #expect(await world.ask("POST /v1/requests", #"[{"identifier": "com.a", "id": "own"}]"#).status == 200)
    let orders = world.coordinator.orders
    #expect(orders.map(\.id) == ["key", "key.0", "key.1", "own"])
    #expect(String(decoding: orders[0].payload ?? [], as: UTF8.self) == #"{"n": 1.50, "t": "\u00e9"}"#)
    #expect(orders[0].priority == .utility && orders[1].payload == nil)
  }

  @Test func `refusals of a list stand at their places, and that of one request is the answer`() async throws {
    let refusal = SubmissionResult.refused(code: "tooManyPendingTaskRequests", message: "1 request is pending")
    let world = APIWorld { $0.submissions = [refusal] }
    let list = await world.ask("POST /v1/requests", #"[{"identifier": "com.a"}, {"identifier": "com.b"}]"#)
    let found = try Self.object(list.text)["answers"] as? [NSDictionary]
    let answers = try #require(found)
    #expect(answers.map { $0["code"] as? String } == ["tooManyPendingTaskRequests", nil])
    world.coordinator.state.withLock { $0.submissions = [refusal] }
    let one = await world.ask("POST /v1/requests", #"{"identifier": "com.a"}"#)
    #expect(one.status == 429 && one.header("Retry-After") == "1", "\(one)")
  }

  @Test func `changes call what the commands call`() async throws {
    let calls: [(line: String, body: String, call: String)] = [
      ("POST /v1/fleet/pause", "", "paused true"), ("POST /v1/fleet/resume", "{}", "paused false"),
      ("POST /v1/hosts/alpha/evict", #"{"identifier": "com.*"}"#, "evicted com.* alpha true"),
      ("POST /v1/hosts/alpha/allow", #"{"identifier": "com.*"}"#, "evicted com.* alpha false"),
      (
        "POST /v1/hosts/alpha/simulate", #"{"power": "battery", "for": "90s"}"#,
        "simulate conditions alpha 90.0 seconds"
      ),
      ("POST /v1/hosts/alpha/simulate", #"{"end": true}"#, "simulate conditions alpha 0.0 seconds"),
      (
        "POST /v1/requests/com.example.gpu/simulate", #"{"what": "launch", "host": "beta"}"#,
        "simulate launch com.example.gpu 0 beta"
      ),
      (
        "POST /v1/requests/com.example.gpu/2/simulate", #"{"what": "expire", "reason": "thermal"}"#,
        "simulate expiry com.example.gpu 2 thermal"
      ),
      (
        "POST /v1/requests/com.example.gpu/retry", #"{"skipBatch": true, "shard": 3}"#,
        "retry com.example.gpu skipping in shard 3"
      ),
      ("POST /v1/requests/com.example.gpu/retry", "", "retry com.example.gpu"),
      ("POST /v1/requests/com.example.gpu/spread", #"{"spread": 8}"#, "set com.example.gpu spread 8"),
      (
        "POST /v1/requests/com.example.gpu/priority", #"{"priority": "utility"}"#,
        "set com.example.gpu priority utility"
      ),
      ("DELETE /v1/definitions/com.example.*", "", "remove com.example.*"),
      ("POST /v1/receivers/ops/test", "", "test ops"),
      ("POST /v1/flows/12/cancel", "", "cancel \(CancelSelection.flow(RequestID(12))) by http"),
    ]
    for (line, body, call) in calls {
      let world = APIWorld(Self.requests) { $0.hosts = [.alpha, .beta] }
      let told = await world.ask(line, body)
      #expect(told.status == 200, "\(line): \(told.text)")
      #expect(world.coordinator.calls.first { $0 != "hosts" } == call, "\(line)")
    }
  }

  @Test func `a receiver that has not taken the test is no failure of the call`() async throws {
    let world = APIWorld { $0.receiverAnswer = ReceiverAnswer(isAccepted: false, text: "HTTP 401") }
    let told = await world.ask("POST /v1/receivers/ops/test")
    #expect(told.status == 200, "\(told.text)")
    let answer = try Self.object(told.text)
    #expect(answer["accepted"] as? Bool == false && answer["answer"] as? String == "HTTP 401", "\(told.text)")
    #expect(await world.ask("POST /v1/receivers/a%20b/test").status == 400)
    #expect(await world.ask("POST /v1/receivers/ops/test", #"{"to": "me"}"#).status == 400)
    #expect(await world.ask("POST /v1/flows/0/cancel").status == 400)
  }

  @Test func `definitions are applied all or none, and each mistake has its place`() async throws {
    let good = "identifier: com.a\nkind: processing\nwork: {command: [\"true\"]}\n"
    let world = APIWorld()
    let applied = await world.ask("PUT /v1/definitions", good, type: "application/yaml")
    #expect(applied.status == 200 && applied.text.contains(#""change":"created""#), "\(applied)")
    let wrong = await world.ask(
      "PUT /v1/definitions", good + "---\nidentifier: com.b\nkind: procesing\nsurprise: 1\n", type: "application/yaml")
    #expect(wrong.status == 422)
    let problems = try #require(try Self.object(wrong.text)["problems"] as? [NSDictionary])
    #expect(problems.map { $0["line"] as? Int } == [6, 7] && problems.allSatisfy { $0["file"] as? String == "body" })
    #expect(world.coordinator.calls.filter { $0.hasPrefix("apply") } == ["apply com.a"])
    let plan = await world.ask("PUT /v1/definitions?dryRun=true", good, type: "application/yaml; charset=utf-8")
    #expect(plan.status == 200 && plan.text.contains(#""plan":[{"#), "\(plan)")
    #expect(world.coordinator.calls.filter { $0.hasPrefix("apply") }.count == 1)
  }

  @Test func `definitions as JSON are the same, also with characters beyond the basic plane`() async throws {
    let world = APIWorld()
    let body = """
      [
      \t{"identifier": "com.a", "kind": "processing", "title": "\\ud83d\\ude00 a\\/b", "work": {"command": ["true"]}},
      \t{"identifier": "com.b", "kind": "processing", "work": {"command": ["true"]}, "surprise": 1}
      ]
      """
    let wrong = await world.ask("PUT /v1/definitions", body)
    let problems = try Self.object(wrong.text)["problems"] as? [NSDictionary]
    let problem = try #require(problems?.first, "\(wrong)")
    #expect(wrong.status == 422 && problem["file"] as? String == "body[1]" && problem["line"] as? Int == 3, "\(wrong)")
    let right = await world.ask("PUT /v1/definitions", body.replacing(", \"surprise\": 1", with: ""))
    #expect(right.status == 200, "\(right)")
    #expect(world.coordinator.state.withLock { $0.definitions.map(\.title) } == ["😀 a/b", nil])
  }

  @Test func `output comes as it was written`() async throws {
    let world = APIWorld([.running]) { $0.output = [(1, "one\n"), (2, "two\n")] }
    #expect(await world.ask("GET /v1/requests/com.example.photos.export.42/logs").text == "one\ntwo\n")
    #expect(await world.ask("GET /v1/requests/com.example.photos.export.42/logs?launch=2").text == "two\n")
    #expect(await world.ask("GET /v1/requests/com.example.none/logs").status == 404)
  }

  @Test func `changes come as events of a stream`() async {
    let world = APIWorld(changes: [[.everything], [.overview, .request(JobIdentifier(trusted: "com.a"))]])
    let told = await world.ask("GET /v1/changes")
    let events = told.text.split(separator: "\n\n").filter { $0 != ": " }
    #expect(
      events == [
        "event: changes\ndata: {\"topics\":[\"*\"]}",
        "event: changes\ndata: {\"topics\":[\"overview\",\"request/com.a\"]}",
      ], "\(told.text)")
  }
}
