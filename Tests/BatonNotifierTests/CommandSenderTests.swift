import BatonBase
import BatonModel
import Foundation
import Testing

@testable import BatonNotifier

@Suite(.timeLimit(.minutes(10))) struct CommandSenderTests {
  private static func notification(_ reason: String = "no disk") -> OutgoingNotification {
    var facts = JobNotification(id: "abc-7-1", event: .failure, at: "2026-11-28T02:00:07.250Z")
    (facts.identifier, facts.request, facts.reason) = (JobIdentifier("com.example.report"), 3, reason)
    return OutgoingNotification(
      id: facts.id, content: #"{"id":"abc-7-1"}"#, facts: facts, date: Timestamp(nanoseconds: 0))
  }

  private static func shell(
    _ script: String, _ arguments: String..., within time: Duration = .seconds(300)
  )
    async -> DeliveryVerdict
  {
    await CommandSender(["/bin/sh", "-c", script, "sh"] + arguments, timeout: time).send(notification())
  }

  @Test func `a command gets the JSON on its standard input, its arguments, and a small environment`() async {
    #expect(await Self.shell("cat; printf ' %s' \"$1\"", "--x y") == .accepted(#"{"id":"abc-7-1"} --x y"#))
    let environment = await Self.shell("env | sed 's/=.*//' | grep -vx -e PWD -e SHLVL -e _ | sort | tr '\\n' ' '")
    #expect(environment == .accepted("LC_ALL PATH "))
  }

  @Test func `exit status 0 accepts, whether the input was read or not`() async {
    #expect(await Self.shell("exit 0") == .accepted("exit status 0"))
    #expect(await Self.shell("exec <&-; exit 0") == .accepted("exit status 0"))
  }

  @Test func `a command that prints much has not failed, and is not ended by it`() async throws {
    let file = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    for end in ["1", "2"] {
      let verdict = await Self.shell(
        "head -c 300000 /dev/zero | tr '\\0' y >&\(end) && echo done > \"$1\"; exit 0", file)
      guard case .accepted = verdict else {
        Issue.record("\(verdict)")
        continue
      }
      #expect(FileManager.default.fileExists(atPath: file), "it was ended while it printed")
      try? FileManager.default.removeItem(atPath: file)
    }
  }

  @Test func `a command that has ended with 0 has taken it, also if it leaves a daemon behind`() async {
    let verdict = await Self.shell("setsid sleep 30 & printf taken", within: .seconds(20))
    #expect(verdict == .accepted("taken"))
  }

  @Test func `another exit status is a failure, with the last line of what the command said`() async {
    guard case .refused(let text, nil) = await Self.shell("echo first >&2; echo 'no line' >&2; exit 3") else {
      Issue.record("it was accepted")
      return
    }
    #expect(text.contains("3") && text.hasSuffix(": no line"), "\(text)")
  }

  @Test func `a command that takes too long is killed with its group`() async throws {
    let file = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let verdict = await Self.shell("sleep 600 & echo $! > \"$1\"; sleep 600", file, within: .milliseconds(500))
    guard case .refused(let text, nil) = verdict else {
      Issue.record("it was accepted")
      return
    }
    #expect(text.contains("did not end within"), "\(text)")
    let text2 = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    let child = try #require(Int32(text2))
    // The group is killed before the answer comes; its last process is reaped a moment later.
    while kill(child, 0) == 0, !Self.isZombie(child) { await Task.yield() }
  }

  private static func isZombie(_ process: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
    return status.split(separator: ")").last?.hasPrefix(" Z") ?? true
  }

  @Test func `a program that is not there is a failure that says so`() async {
    let verdict = await CommandSender(["/nonexistent/page"]).send(Self.notification())
    #expect(verdict == .refused("there is no such program, or it may not be run"))
  }

  @Test func `mail goes through sendmail, with the receiver in the text and not in the arguments`() async throws {
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = folder + "/sendmail"
    try "#!/bin/sh\nprintf '%s ' \"$@\" > '\(folder)/arguments'; cat > '\(folder)/mail'\n".write(
      toFile: program, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
    let sender = MailSender(to: "ops@example.org", sendmail: program)
    #expect(await sender.send(Self.notification()) == .accepted("exit status 0"))
    #expect(try String(contentsOfFile: folder + "/arguments", encoding: .utf8) == "-i -t ")
    let mail = try String(contentsOfFile: folder + "/mail", encoding: .utf8)
    #expect(mail.hasPrefix("To: ops@example.org\nSubject: Baton: com.example.report (request 3) failed\n"), "\(mail)")
    #expect(sender.place == "ops@example.org" && sender.kind == .mail)
  }
}
