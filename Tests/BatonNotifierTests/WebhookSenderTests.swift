import BatonBase
import BatonModel
import FalseServer
import Synchronization
import Testing

@testable import BatonNotifier

/// Attempts against a real server on loopback, which answers as the test wants.
@Suite(.timeLimit(.minutes(10))) struct WebhookSenderTests {
  private static let date = Timestamp(nanoseconds: 784_111_777_000_000_000)
  private static let secret = WebhookSecret(file: Array("0123456789abcdef".utf8))!

  private static var notification: OutgoingNotification {
    let facts = JobNotification(id: "abc-7-1", event: .failure, at: "2026-11-28T02:00:07.250Z")
    return OutgoingNotification(id: "abc-7-1", content: #"{"id":"abc-7-1"}"#, facts: facts, date: date)
  }

  /// Sends once to a server that gives this answer.
  private static func send(
    timeout: Duration = .seconds(3600), _ answer: @escaping @Sendable (FalseRequest) -> FalseAnswer
  ) async throws -> (verdict: DeliveryVerdict, requests: [FalseRequest]) {
    let requests = Mutex<[FalseRequest]>([])
    let server = try await FalseServer { request in
      requests.withLock { $0.append(request) }
      return answer(request)
    }
    let address = try #require(WebAddress(server.origin + "/hooks/baton?key=abc"))
    let sender = try WebhookSender(to: address, secret: secret, timeout: timeout)
    #expect(sender.place == server.origin, "the path may have a secret in it")
    let verdict = await sender.send(notification)
    await server.stop()
    return (verdict, requests.withLock { $0 })
  }

  private static func plain(_ status: Int, _ fields: [(String, String)] = [], _ body: String = "") -> FalseAnswer {
    FalseAnswer(
      status, fields.map { (name: $0.0, value: $0.1) } + [("Content-Length", "\(body.utf8.count)")],
      body: Array(body.utf8)[...])
  }

  @Test func `the facts are posted as JSON, signed`() async throws {
    let (verdict, requests) = try await Self.send { _ in Self.plain(200, [], "thanks") }
    #expect(verdict == .accepted("HTTP 200: thanks"))
    let request = try #require(requests.first)
    #expect(requests.count == 1 && request.method == "POST" && request.path == "/hooks/baton?key=abc")
    #expect(request.body == Array(Self.notification.content.utf8))
    #expect(request.fields["content-type"] == "application/json")
    #expect(request.fields["user-agent"] == "Baton/\(BatonVersion.current)")
    for header in Self.secret.headers(id: "abc-7-1", at: Self.date, body: Self.notification.content) {
      #expect(request.fields[header.name] == header.value)
    }
  }

  @Test(arguments: [200, 201, 202, 204]) func `every 2xx accepts`(status: Int) async throws {
    let verdict = try await Self.send { _ in
      status == 204 ? FalseAnswer(204) : Self.plain(status)
    }.verdict
    #expect(verdict == .accepted("HTTP \(status)"))
  }

  @Test(arguments: [400, 401, 404, 410, 429, 500, 503])
  func `every other status is tried again`(status: Int) async throws {
    let verdict = try await Self.send { _ in Self.plain(status, [], "<html>no</html>") }.verdict
    #expect(verdict == .refused("HTTP \(status)"))
  }

  @Test func `what a receiver asks to wait is told`() async throws {
    let seconds = try await Self.send { _ in Self.plain(503, [("Retry-After", "7")]) }.verdict
    #expect(seconds == .refused("HTTP 503", after: .seconds(7)))
    let date = try await Self.send { _ in
      Self.plain(429, [("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT")])
    }.verdict
    #expect(date == .refused("HTTP 429", after: .seconds(60)))
  }

  @Test func `a redirect is not followed`() async throws {
    let reached = Mutex(0)
    let other = try await FalseServer { _ in
      reached.withLock { $0 += 1 }
      return Self.plain(200)
    }
    let target = other.origin + "/elsewhere"
    for status in [301, 302, 303, 307, 308] {
      let (verdict, requests) = try await Self.send { _ in Self.plain(status, [("Location", target)]) }
      #expect(
        verdict == .refused("HTTP \(status); redirects are not followed: correct the address"))
      #expect(requests.count == 1)
    }
    await other.stop()
    #expect(reached.withLock { $0 } == 0)
  }

  @Test func `a receiver that is silent, closes or resets gets another attempt`() async throws {
    let silent = try await Self.send(timeout: .milliseconds(200)) { _ in
      var answer = FalseAnswer(200, [("Content-Length", "5")])
      answer.thought = 3_600_000
      return answer
    }.verdict
    #expect(silent == .refused("no answer within 200ms"))
    for turn in [FalseAnswer.Turn.close, .reset] {
      let server = try await FalseServer { _ in
        var answer = FalseAnswer(0)
        answer.turn = (0, turn)
        return answer
      }
      // The server sends a status line that is no HTTP, and ends the connection.
      let sender = try WebhookSender(
        to: try #require(WebAddress(server.origin)), secret: Self.secret, timeout: .seconds(3600))
      guard case .refused = await sender.send(Self.notification) else {
        Issue.record("it was accepted")
        continue
      }
      await server.stop()
    }
  }

  @Test(arguments: [(200, true), (503, false)])
  func `the status says whether it was taken, also if the text of the answer never ends`(
    status: Int, isTaken: Bool
  ) async throws {
    let verdict = try await Self.send(timeout: .milliseconds(500)) { _ in
      var answer = FalseAnswer(status, [("Content-Length", "500")], body: Array("thanks".utf8)[...])
      answer.turn = (6, .silence)
      return answer
    }.verdict
    #expect(verdict == (isTaken ? .accepted("HTTP 200") : .refused("HTTP 503")))
  }

  @Test func `nothing that listens is a failure that says so`() async throws {
    let server = try await FalseServer { _ in Self.plain(200) }
    let address = try #require(WebAddress(server.origin))
    await server.stop()
    let verdict = await (try WebhookSender(to: address, secret: Self.secret)).send(Self.notification)
    #expect(verdict == .refused("Connection refused"))
  }
}
