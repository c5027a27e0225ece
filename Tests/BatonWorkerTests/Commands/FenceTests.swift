import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// What this machine can do, so that a test that it cannot run is skipped and does not fail.
enum ThisMachine {
  /// Whether the kernel has the sandbox. A missing `baton-exec` is no reason to skip a test.
  static func fences() async -> Bool {
    let sandbox = await SandboxProbe.look(helper: Fence.besideThisProgram, required: .basic)
    return !sandbox.problem.hasPrefix("the kernel")
  }

  static let hasPerl = SystemCall.isExecutable("/usr/bin/perl")
}

/// Files of Baton with secrets, below the folder of the fixture: those of the worker, those of a coordinator and an
/// operator of the same user. `Documentation/reference/security.md` lists them.
enum SecretFiles {
  static let names =
    ["data/identity.json", "config/baton/fleets/default.json"]
    + ["authority.pem", "token", "baton.sqlite", "baton.sqlite-wal", "receipt.key"].map {
      "state/baton/coordinator/" + $0
    }

  /// The confinement of a worker of a user with these files: it hides what `WorkerConfiguration` says.
  static func fenced(_ root: String, _ level: SandboxLevel) -> CommandConfinement {
    var confinement = CommandFixture.fenced(root, level)
    var configuration = WorkerConfiguration(name: "desk", dataFolder: root + "/data", slots: 1)
    configuration.tokenFile = root + "/token"
    guard let folders = try? WorkerFolders(data: root + "/data") else { return confinement }
    confinement.hidden = configuration.hidden(
      folders, environment: ["XDG_STATE_HOME": root + "/state", "XDG_CONFIG_HOME": root + "/config"])
    return confinement
  }
}

/// Attacks of a command on Baton. Each is a shell script that ends with 0 if it succeeds, and that is seen to succeed
/// without the sandbox.
struct Attack: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let script: String

  init(_ name: String, _ script: String) { (testDescription, self.script) = (name, script) }

  /// The working directory is beside the worker's folder. The parent process is the worker.
  static let all =
    [
      Attack("reads the worker's secret", "cat ../data/secret"),
      Attack("reads the token", "grep -q . ../token"),
      Attack("reads the token through a link", "ln -s ../token link && grep -q . link"),
      Attack("reads another launch's payload", "cat ../data/launches/8-1/payload"),
      Attack("writes into another launch's folder", "echo x > ../data/launches/8-1/expiry.json"),
      Attack("changes the worker's secret", "[ -e ../data/secret ] && echo x >> ../data/secret"),
      Attack("removes the token", "rm ../token && [ ! -e ../token ]"),
      Attack("moves another launch's folder away", "mv ../data/launches/8-1 ./stolen"),
      Attack("reads the worker's environment", "head -c 1 /proc/$PPID/environ | grep -q ."),
      Attack("opens the worker's descriptors", "readlink /proc/$PPID/fd/0"),
      Attack("enters the worker's root", "ls /proc/$PPID/root/"),
      Attack("signals the worker", "kill -0 $PPID"),
      Attack("opens the worker's memory", "head -c 0 /proc/$PPID/mem"),
    ] + SecretFiles.names.map { Attack("reads \($0)", "grep -q . '../\($0)'") }

  /// Attacks with a call of the system. The child belongs to the attacker, so only the filter of calls refuses them.
  static let calls = [
    Attack(
      "examines a process",
      call(
        "my $child = fork; if (!$child) { sleep 1000 } ", x86: 101, arm: 117, "0x4206, $child, 0, 0", "kill 9, $child;")
    ),
    Attack("leaves its namespaces", call("", x86: 272, arm: 97, "0x200", "")),
    Attack("adds a key", call("", x86: 250, arm: 219, "0, -3, 1, 0, 0", "")),
  ]

  private static func call(
    _ before: String, x86: Int, arm: Int, _ arguments: String, _ after: String
  ) -> String {
    "perl -e '\(before) my $nr = `uname -m` =~ /x86_64/ ? \(x86) : \(arm); my $answer = syscall($nr, \(arguments)); "
      + "\(after) exit($answer == -1)'"
  }
}

@Suite("A command in the sandbox", .enabled("the kernel has no sandbox", ThisMachine.fences))
struct FenceTests {
  /// Runs the script without the sandbox, where it has to succeed, and in each level, where it must not.
  private func expectRefusal(of script: String) async throws {
    #expect(try await status(script) { _ in .none } == 0, "the attack has to work without the sandbox")
    for level in await ThisMachine.levels() {
      #expect(try await status(script) { SecretFiles.fenced($0, level) } > 0, "\(level)")
    }
  }

  private func status(_ script: String, _ confinement: (String) -> CommandConfinement) async throws -> Int32 {
    let fixture = try CommandFixture(confinement: confinement)
    try SystemCall.write(Array("secret".utf8), to: fixture.folders.secret)
    try SystemCall.write(Array("token".utf8), to: fixture.root + "/token")
    try FileManager.default.createDirectory(
      atPath: fixture.folders.launches + "/8-1", withIntermediateDirectories: true)
    for name in SecretFiles.names {
      let path = URL(fileURLWithPath: fixture.root + "/" + name)
      try FileManager.default.createDirectory(at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
      try SystemCall.write(Array("key".utf8), to: path.path)
    }
    try SystemCall.write(Array("payload".utf8), to: fixture.folders.launches + "/8-1/payload")
    do {
      try await fixture.run(fixture.shell("{ \(script); } >/dev/null 2>&1", items: .range(1...1)))
      return 0
    } catch let error as CommandError where error.code == .exitStatus {
      return Int32(error.type.split(separator: " ").last ?? "") ?? -1
    }
  }

  @Test("reaches nothing of Baton's, and without the sandbox it would", .refuses(30), arguments: Attack.all)
  func attacks(attack: Attack) async throws {
    try await expectRefusal(of: attack.script)
  }

  @Test("does not depend on the folder in which the worker was started")
  func anyFolder() async throws {
    let helper = try #require(Fence.besideThisProgram)
    func level(in folder: String) throws -> String {
      // Other tests kill the child processes that they do not know, so this one may have to be started again.
      for _ in 0..<100 {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: helper)
        (process.arguments, process.standardOutput) = (["--probe"], output)
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        if process.terminationReason == .exit { return text }
      }
      return "killed"
    }
    let fixture = try CommandFixture()
    let (own, root) = (try level(in: fixture.root), try level(in: "/"))
    #expect(own == root && own != "killed")
    // The other tests of the sandbox are skipped where the probe says that there is none, so a probe that crashes is
    // found here.
    #expect(!own.contains("ended with status"), "\(own)")
  }

  @Test("says what it is if a person asks", arguments: ["--help", "-h"])
  func help(option: String) async throws {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: try #require(Fence.besideThisProgram))
    (process.arguments, process.standardOutput) = ([option], output)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text.hasPrefix("OVERVIEW: "))
    #expect(text.contains("USAGE: baton-exec --probe\n"))
  }

  @Test("runs also if one hidden folder is in another one, and if one is named twice")
  func nested() async throws {
    let fixture = try CommandFixture { root in
      var confinement = CommandFixture.fenced(root)
      confinement.hidden = [root + "/data/launches"] + confinement.hidden + confinement.hidden
      return confinement
    }
    try await fixture.run(fixture.shell("echo made > made.txt", items: .range(1...1)))
    #expect(FileManager.default.fileExists(atPath: fixture.directory + "/made.txt"))
  }

  /// A worker's data folder three folders below one that commands may write to.
  private func below(_ root: String, _ level: SandboxLevel) throws -> CommandConfinement {
    try FileManager.default.createDirectory(atPath: root + "/work/a/b/desk", withIntermediateDirectories: true)
    try SystemCall.write(Array("key".utf8), to: root + "/work/a/b/desk/identity.json")
    return CommandConfinement(
      helper: Fence.besideThisProgram, level: level, hidden: [root + "/data", root + "/work/a/b/desk"])
  }

  @Test(
    "a batch moves no folder away that leads to a hidden one, so that the next batch could read it", .refuses(30),
    .enabled(if: ThisMachine.hasPerl))
  func moved() async throws {
    let script = """
      if [ -e second ]; then ! grep -q . a2/b/desk/identity.json; exit; fi
      echo > second
      perl -e 'rename "a", "a2"' && mkdir -p a/b/desk
      true
      """
    for level in await ThisMachine.levels() {
      let fixture = try CommandFixture { (try? below($0, level)) ?? .none }
      try await fixture.run(fixture.shell(script, items: .range(1...2)))
      #expect(fixture.names(in: fixture.directory).sorted() == ["a", "second"], "\(level)")
      #expect(fixture.names(in: fixture.directory + "/a/b/desk") == ["identity.json"], "\(level)")
    }
  }

  @Test(
    "neither renames nor removes a folder that leads to a hidden one", .refuses(30), .enabled(if: ThisMachine.hasPerl),
    arguments: ["a", "a/b", "a/b/desk"])
  func pinned(folder: String) async throws {
    let script = """
      echo x > f && mv f g && mkdir d && mv g d/g && mv d e && [ -e e/g ] || exit 2
      perl -e 'use Errno; (!rename(shift, "x") && $!{EBUSY}) or exit 3' \(folder)
      perl -e 'use Errno; (!rmdir(shift) && $!{EBUSY}) or exit 4' \(folder)
      """
    for level in await ThisMachine.levels() {
      let fixture = try CommandFixture { (try? below($0, level)) ?? .none }
      try await fixture.run(fixture.shell(script, items: .range(1...1)))
      #expect(SystemCall.exists(fixture.directory + "/a/b/desk/identity.json"), "\(level)")
    }
  }

  @Test("does not run if a hidden folder is another one than at the worker's start", .refuses(33))
  func replaced() async throws {
    let fixture = try CommandFixture { root in
      var confinement = CommandFixture.fenced(root)
      confinement.places = [FolderPlace(root + "/kept"), FolderPlace(root + "/data")].compactMap(\.self)
      return confinement
    }
    try await fixture.run(fixture.shell("true", items: .range(1...1)))
    try FileManager.default.moveItem(atPath: fixture.folders.data, toPath: fixture.root + "/moved")
    _ = try WorkerFolders(data: fixture.folders.data)
    let error = try await fixture.failure(fixture.shell("echo x > ran", items: .range(1...1)))
    #expect(error.code == .host && error.message.contains("is not the folder that it was"))
    #expect(fixture.names(in: fixture.directory).isEmpty)
  }

  @Test("makes no dangerous call", .refuses(30), .enabled(if: ThisMachine.hasPerl), arguments: Attack.calls)
  func calls(attack: Attack) async throws {
    try await expectRefusal(of: attack.script)
  }

  @Test(
    "does what commands do",
    arguments: [
      "echo x > made && mv made moved && rm moved", "mkdir a && mkdir b && echo x > a/f && mv a/f b/f",
      "cat /etc/passwd && ls /", "echo x > $TMPDIR/x && cat $TMPDIR/x", "sleep 1000 & kill $!", "ls ..",
      "sh -c 'kill -0 $PPID'", "grep -q 'NoNewPrivs:.1' /proc/self/status", "test $(ulimit -c) = 0",
      "(setsid sh -c 'exit 0')", "cat /dev/null && echo x > /dev/null && head -c 1 /dev/urandom",
    ])
  func ordinary(script: String) async throws {
    for level in await ThisMachine.levels() {
      #expect(try await status(script) { CommandFixture.fenced($0, level) } == 0, "\(level)")
    }
  }

  @Test(
    "has a private network, which is none, if the owner allows no other",
    .enabled(if: ThisMachine.hasPerl, "there is no perl"))
  func network() async throws {
    let script = "perl -e 'use Socket; exit(!socket(my $s, PF_INET, SOCK_STREAM, 0))'"
    for level in [SandboxLevel.basic, nil] {
      let offline = try await status(script) { _ in
        CommandConfinement(
          permissions: CommandPermissions(network: false), helper: Fence.besideThisProgram, level: level)
      }
      #expect(offline == 1)
    }
    #expect(try await status(script, CommandFixture.fenced) == 0)
  }

  @Test("the worker reads no hidden file in the command's place", .refuses(30))
  func deputy() async throws {
    let fixture = try CommandFixture(confinement: CommandFixture.fenced)
    try SystemCall.write(Array("token\n".utf8), to: fixture.root + "/token")
    try FileManager.default.createSymbolicLink(
      atPath: fixture.root + "/work/link", withDestinationPath: fixture.root + "/token")
    for path in [fixture.root + "/token", "../token", "link"] {
      let error = try await fixture.failure(fixture.shell("true", items: .lines(path)))
      #expect(error.code == .badItems)
      #expect(error.message.contains("is hidden from commands"))
    }
  }

  @Test("a program that cannot be started has the same error as without the sandbox")
  func errors() async throws {
    let (free, fenced) = (try CommandFixture { _ in .none }, try CommandFixture(confinement: CommandFixture.fenced))
    for fixture in [free, fenced] {
      try fixture.write("#!/no/such/interpreter\n", to: "orphan", executable: true)
      try fixture.write("garbage\n", to: "garbage", executable: true)
    }
    for command in [["./orphan"], ["./garbage"], ["/bin/true", String(repeating: "x", count: 200_000)]] {
      var errors: [CommandError] = []
      for fixture in [free, fenced] {
        let work = Work(command: command, directory: fixture.directory, items: .range(1...1))
        let error = try await fixture.failure(work)
        errors.append(CommandError(error.code, error.message.replacing(fixture.directory, with: "DIRECTORY")))
      }
      #expect(errors[0] == errors[1])
    }
  }

  @Test("a fence that cannot be applied keeps the command from running", .refuses(33))
  func failing() async throws {
    let fixture = try CommandFixture { root in
      // A path that leads to itself can be neither resolved nor ignored.
      try? FileManager.default.createSymbolicLink(atPath: root + "/loop", withDestinationPath: root + "/loop")
      return CommandConfinement(helper: Fence.besideThisProgram, level: .basic, hidden: [root + "/loop"])
    }
    let error = try await fixture.failure(fixture.shell("echo x > ran", items: .range(1...1)))
    #expect(error.code == .host)
    #expect(error.message.contains("could not fence"))
    #expect(fixture.names(in: fixture.directory).isEmpty)
  }

  @Test("without baton-exec no command runs", .refuses(33))
  func missing() async throws {
    let fixture = try CommandFixture { CommandConfinement(helper: $0 + "/nothing", level: .basic) }
    let error = try await fixture.failure(fixture.shell("echo x > ran", items: .range(1...1)))
    #expect(error.code != .exitStatus)
    #expect(fixture.names(in: fixture.directory).isEmpty)
  }

  /// The command writes to each descriptor that it has, and to each number that it does not have. It leaves out the one
  /// for results, because what it writes there is no result.
  @Test("a command forges no report of baton-exec", arguments: [true, false])
  func forged(usesStarter: Bool) async throws {
    let fixture = try CommandFixture(usesStarter: usesStarter, confinement: CommandFixture.fenced)
    let script = """
      for number in $(seq 1 200); do
        [ $number = $BATON_PROGRESS_FD ] || echo exec 2 nothing 2>/dev/null >&$number
      done
      tr '\\0' ' ' </proc/self/cmdline; exit 125
      """
    let error = try await fixture.failure(
      Work(command: ["/bin/bash", "-c", script, "bash"], directory: fixture.directory, items: .range(1...1)))
    #expect(error.type == "exit 125")
    #expect(error.message.contains("exec 2 nothing"))
    #expect(!error.message.contains("--report"))
  }

  @Test("a cursor passes through the fence")
  func cursor() async throws {
    let fixture = try CommandFixture(confinement: CommandFixture.fenced)
    let runtime = try await fixture.run(
      fixture.shell("echo '{\"completed\": 1, \"total\": 2}' >&$BATON_PROGRESS_FD; head -n 1 <&$BATON_COMMIT_FD"))
    #expect(runtime.commits.count == 2)
  }
}
