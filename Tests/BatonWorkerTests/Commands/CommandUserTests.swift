import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// `work.user`, on real commands. Only root can switch users.
@Suite(
  "A command with a user of its own", .enabled(if: ThisMachine.isRoot, "only root can switch users"),
  .enabled("this machine permits no namespaces", ThisMachine.isolates))
struct CommandUserTests {
  static let name = "nobody"

  private func fixture(_ level: SandboxLevel) throws -> CommandFixture {
    let fixture = try CommandFixture { CommandFixture.fenced($0, level) }
    // The user has to reach the working directory, and may write into it.
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: fixture.directory)
    return fixture
  }

  private func work(_ fixture: CommandFixture, _ script: String, items: Items? = .range(1...1)) -> Work {
    var work = fixture.shell(script, items: items)
    work.user = Self.name
    return work
  }

  @Test("runs with the user's ids, groups, home and nothing of root's", arguments: SandboxLevel.allCases)
  func identity(level: SandboxLevel) async throws {
    let fixture = try fixture(level)
    let user = try #require(try CommandUser.find(Self.name))
    let script = """
      echo $(id -u) $(id -g) $HOME $USER $LOGNAME > who
      id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' ' > groups
      grep -E '^(CapPrm|CapEff|CapInh|CapAmb)' /proc/self/status | grep -vc 0000000000000000 > capabilities
      cat /etc/shadow 2>/dev/null && exit 9
      true
      """
    try await fixture.run(work(fixture, script))
    #expect(try fixture.read("who") == "\(user.id) \(user.group) \(user.home) \(user.name) \(user.name)\n")
    #expect(try fixture.read("groups") == Set(user.groups).sorted().map { "\($0) " }.joined())
    #expect(try fixture.read("capabilities") == "0\n")
  }

  @Test(
    "reads the files of its launch and writes into its two folders, and changes nothing else there", .refuses(30),
    arguments: SandboxLevel.allCases)
  func folder(level: SandboxLevel) async throws {
    let fixture = try fixture(level)
    let script = """
      cat "$BATON_ITEMS_FILE" "$BATON_PAYLOAD_FILE" > got
      grep -c fetch "$BATON_INPUTS_FILE" >> got
      echo x > "$TMPDIR/x" || exit 2
      launch=${BATON_EXPIRY_FILE%/*}
      (echo x > "$launch/expiry.json") 2>/dev/null && exit 3
      (rm -f "$launch/payload") 2>/dev/null && [ ! -e "$launch/payload" ] && exit 4
      (ln -sf /etc/passwd "$launch/items") 2>/dev/null && exit 5
      ls "$launch/.." | wc -l >> got
      """
    var work = work(fixture, script.replacing("${", with: "$${"))
    work.pass = .file
    let input = RequestInput(JobIdentifier("com.example.fetch")!, number: 1, state: .succeeded)
    try await fixture.run(work, payload: Array("payload\n".utf8), inputs: [input])
    #expect(try fixture.read("got") == "1\npayload\n1\n1\n")
    #expect(fixture.names(in: fixture.folders.launches).isEmpty, "the folder is removed with what the user left in it")
  }

  @Test("has its pipes, its input and its output", arguments: SandboxLevel.allCases)
  func pipes(level: SandboxLevel) async throws {
    let fixture = try fixture(level)
    let cursor = try await fixture.run(
      work(
        fixture,
        "echo said > /dev/stdout; echo '{\"completed\": 1}' >&$BATON_PROGRESS_FD; head -n 1 <&$BATON_COMMIT_FD",
        items: nil))
    #expect(cursor.commits.count == 2 && cursor.output.hasPrefix("said\n"))
    var input = work(fixture, "cat", items: .list(["a", "b"]))
    (input.pass, input.batchSize) = (.stdin, 2)
    #expect(try await fixture.run(input).output == "a\nb\n")
  }

  @Test("starts in its own empty folder if the definition names none")
  func empty() async throws {
    let fixture = try fixture(.strict)
    var work = work(fixture, "echo x > made && cat made")
    work.directory = nil
    #expect(try await fixture.run(work).output == "x\n")
  }

  @Test("does not run where there is no such user, or as a second name of root")
  func unknown() async throws {
    let fixture = try fixture(.basic)
    var work = work(fixture, "touch ran")
    work.user = "no-such-user"
    let error = try await fixture.failure(work)
    #expect(
      error.message == "there is no user 'no-such-user' on box: make it there, or change 'user' in the definition")
    work.user = "root"
    #expect(try await fixture.failure(work).code == .notPermitted)
    #expect(fixture.names(in: fixture.directory).isEmpty && fixture.names(in: fixture.folders.launches).isEmpty)
  }

  @Test("does not run without the sandbox, which keeps the worker's folders closed to the user")
  func unfenced() async throws {
    let fixture = try CommandFixture { _ in CommandConfinement(helper: Fence.besideThisProgram) }
    let error = try await fixture.failure(work(fixture, "touch ran"))
    #expect(error.code == .host && error.message.contains("mounts for another user"))
    #expect(fixture.names(in: fixture.directory).isEmpty)
  }
}
