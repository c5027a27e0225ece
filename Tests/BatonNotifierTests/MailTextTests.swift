import BatonModel
import Testing

@testable import BatonNotifier

@Suite struct MailTextTests {
  private static var facts: JobNotification {
    var facts = JobNotification(id: "abc-7-1", event: .failure, at: "2026-11-28T02:00:07.250Z")
    (facts.identifier, facts.request, facts.state) = (JobIdentifier("com.example.report"), 3, "failed")
    (facts.reason, facts.failure, facts.host, facts.launches) = ("no disk", "exit 3", "alpha", 2)
    return facts
  }

  @Test func `a mail has what happened in its subject, and the facts below`() {
    let text = MailText.message(Self.facts, to: "ops@example.org", from: "baton@example.org")
    #expect(
      text == """
        From: baton@example.org
        To: ops@example.org
        Subject: Baton: com.example.report (request 3) failed
        Message-ID: <abc-7-1@baton>
        Auto-Submitted: auto-generated
        MIME-Version: 1.0
        Content-Type: text/plain; charset=utf-8
        Content-Transfer-Encoding: 8bit

        com.example.report (request 3) failed

        event: failure
        at: 2026-11-28T02:00:07.250Z
        job: com.example.report
        request: 3
        state: failed
        reason: no disk
        failure: exit 3
        host: alpha
        launches: 2
        id: abc-7-1

        """)
  }

  @Test func `nothing in the facts becomes a header, or a row of its own`() {
    var facts = Self.facts
    facts.event = .hostLost
    facts.identifier = nil
    facts.host = "a\r\nBcc: all@example.org\r\n\r\nhello\u{2028}ü"
    facts.id = "x>\nX-Evil: 1"
    facts.reason = "first\r\nstate: succeeded\u{1B}[31m" + String(repeating: "x", count: 450)
    let lines = MailText.message(facts, to: "ops@example.org", from: nil).split(
      separator: "\n", omittingEmptySubsequences: false)
    let head = lines.prefix { !$0.isEmpty }
    #expect(
      head.map { $0.prefix { $0 != ":" } } == [
        "To", "Subject", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type", "Content-Transfer-Encoding",
      ])
    #expect(head.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    let body = lines.dropFirst(head.count)
    #expect(body.allSatisfy { $0.unicodeScalars.count <= 260 })
    #expect(!body.contains { $0.hasPrefix("state: succeeded") })
    #expect(!body.joined().unicodeScalars.contains { $0.value < 0x20 })
  }

  @Test(arguments: ["ops@example.org", "a.b+c@x", "o'neil@example.org"])
  func `an address is taken`(text: String) { #expect(MailText.isAddress(text)) }

  @Test(
    arguments: [
      "", "ops", "@x", "ops@", "a@b@c", "a b@c", "a@b,c@d", "\"a\"@b", "a@b\nBcc: c@d", "-oQ/tmp@x", "ü@x",
      "a@[1.2.3.4]",
    ])
  func `what could be more than an address is refused`(text: String) { #expect(!MailText.isAddress(text)) }
}
