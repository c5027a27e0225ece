import BatonHandler
import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

extension ThisMachine {
  /// Whether this machine can give the sandbox `strict` to this user.
  static func isolates() async -> Bool {
    await SandboxProbe.look(helper: Fence.besideThisProgram, required: .strict).available == .strict
  }

  /// The levels of the sandbox that this machine can give to this user.
  static func levels() async -> [SandboxLevel] { await isolates() ? SandboxLevel.allCases : [.basic] }

  static let isRoot = geteuid() == 0
}

/// What the sandbox `strict` does besides what `basic` does (`FenceTests`), on real commands.
@Suite("A command in the sandbox 'strict'", .enabled("this machine permits no namespaces", ThisMachine.isolates))
struct StrictFenceTests {
  private func fixture(
    _ level: SandboxLevel = .strict, permissions: @escaping (_ root: String) -> CommandPermissions = { _ in .init() }
  ) throws -> CommandFixture {
    try CommandFixture { root in
      var confinement = CommandFixture.fenced(root, level)
      confinement.permissions = permissions(root)
      return confinement
    }
  }

  @Test("sees no process but those of its launch, and no arguments of baton-exec", .refuses(30))
  func processes() async throws {
    let fixture = try fixture()
    let script = """
      ls /proc | grep -c '^[0-9]' > count
      cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > arguments
      cat /proc/1/environ > environment 2>/dev/null
      true
      """
    try await fixture.run(fixture.shell(script, items: .range(1...1)))
    // The first process, the shell, ls and grep; the worker's machine has more.
    #expect(try (1...4).contains(Int(fixture.read("count").dropLast()) ?? 0))
    #expect(try fixture.read("environment") == "")
    #expect(try !fixture.read("arguments").contains("--report"))
    #expect(try !fixture.read("arguments").contains(fixture.folders.data))
  }

  @Test("takes everything with it that it has started, when it ends")
  func descendants() async throws {
    let fixture = try fixture()
    let mark = UUID().uuidString
    let script = """
      setsid sh -c 'trap "" TERM; echo > up; sleep 1000; : \(mark)' &
      until [ -e up ]; do :; done
      """
    try await fixture.run(fixture.shell(script, items: .range(1...1)))
    let left = ProcessTable.all().filter { entry in
      SystemCall.contents(of: "/proc/\(entry.pid)/cmdline").map { String(decoding: $0, as: UTF8.self) }?
        .contains(mark) ?? false
    }
    #expect(left.isEmpty)
  }

  @Test("ends for the worker as it ended", arguments: ["exit 7", "kill -9 $$", "kill -TERM $$", "kill -SEGV $$"])
  func ends(script: String) async throws {
    let bare = try CommandFixture { _ in .none }
    let expected = try await bare.failure(bare.shell(script, items: .range(1...1)))
    let fixture = try fixture()
    let error = try await fixture.failure(fixture.shell(script, items: .range(1...1)))
    #expect(error.code == expected.code && error.type == expected.type)
  }

  @Test("gets SIGTERM when its launch expires, and SIGKILL by the deadline", arguments: ["exit 0", ":"])
  func expires(answer: String) async throws {
    let fixture = try fixture()
    var work = fixture.shell("trap 'echo > stopped; \(answer)' TERM; echo up; while :; do sleep 0.01; done")
    work.items = .range(1...1)
    work.onExpiry = .terminate
    let runtime = FakeRuntime()
    let result = await fixture.expire(
      work, on: runtime, when: { while !runtime.output.contains("up") { await Task.yield() } },
      then: {
        while !FileManager.default.fileExists(atPath: fixture.directory + "/stopped") { await Task.yield() }
        if answer == ":" { fixture.clock.advance(to: .seconds(30)) }
      })
    // A command that ends with status 0 after SIGTERM has done its batch.
    if answer == ":" {
      #expect(throws: CommandExpired.self) { try result.get() }
    }
    #expect(fixture.names(in: fixture.folders.launches).isEmpty)
  }

  /// Folders, and whether what the command writes there is on the host afterwards. ROOT is the fixture's folder, of
  /// which `allow.directories` names `allowed`, `deep/**` and `some*/x`.
  private static let places = [
    (".", true), ("ROOT/allowed", true), ("ROOT/deep/below", true), ("ROOT", false), ("ROOT/other", false),
    ("ROOT/something/x", false), ("ROOT/data", false), ("ROOT/data/launches", false), ("/", false), ("/etc", false),
    ("/dev", false), ("/run", false), ("/tmp", false), ("/var/tmp", false), ("/dev/shm", false),
  ]

  @Test("writes to its working directory and to what the owner names, and nowhere else", arguments: places)
  func writes(place: String, isWritable: Bool) async throws {
    let fixture = try fixture { root in
      CommandPermissions(
        directories: ["/work", "/allowed", "/deep/**", "/some*/x"].compactMap { PathPattern(root + $0) })
    }
    for folder in ["allowed", "deep/below", "other", "something/x"] {
      try FileManager.default.createDirectory(
        atPath: fixture.root + "/" + folder, withIntermediateDirectories: true)
    }
    let folder = place.replacing("ROOT", with: fixture.root).replacing(/^\.$/, with: fixture.directory)
    let name = "\(folder)/\(UUID().uuidString)"
    try await fixture.run(fixture.shell("echo x > \(name) 2>/dev/null || true", items: .range(1...1)))
    #expect(FileManager.default.fileExists(atPath: name) == isWritable)
  }

  @Test("has folders of its own for temporary files", arguments: ["$TMPDIR", "/tmp", "/var/tmp", "/dev/shm"])
  func temporary(place: String) async throws {
    let fixture = try fixture()
    let script = "test -z \"$(find \(place) -maxdepth 1 -type f)\" && echo x > \(place)/x && cat \(place)/x"
    #expect(try await fixture.run(fixture.shell(script, items: .range(1...1))).output == "x\n")
  }

  @Test(
    "cannot write to the file system where it may as a user",
    .enabled(if: ThisMachine.isRoot, "only root could write there"))
  func readOnly() async throws {
    let fixture = try fixture()
    let script = "touch /etc/x /x /run/x /dev/x /proc/sys/kernel/core_pattern 2>&1 | grep -c 'Read-only' || true"
    #expect(try await fixture.run(fixture.shell(script, items: .range(1...1))).output == "5\n")
  }

  @Test("has a network only if its definition requires one", arguments: [nil, NetworkRequirement.any])
  func network(requirement: NetworkRequirement?) async throws {
    let fixture = try fixture()
    var runner = fixture.runner(fixture.shell("readlink /proc/self/ns/net > net", items: .range(1...1)))
    var definition = runner.definition
    definition.requirements.network = requirement
    runner = CommandRunner(
      definition: definition, assignment: runner.assignment, folders: fixture.folders, host: HostName("box"),
      processes: fixture.processes, time: fixture.clock.time, confinement: fixture.confinement)
    try await runner.run(FakeRuntime())
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
    #expect(try (fixture.read("net") == own + "\n") == (requirement != nil))
  }

  @Test("has shared memory and message queues of its own, and cannot make namespaces")
  func others() async throws {
    let fixture = try fixture()
    try await fixture.run(
      fixture.shell(
        "readlink /proc/self/ns/ipc > ipc; unshare -i true && exit 9; true",
        items: .range(1...1)))
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/ipc")
    #expect(try fixture.read("ipc") != own + "\n")
  }

  @Test("finds no hidden file, not even in a working directory that contains it", .refuses(30))
  func hidden() async throws {
    let fixture = try fixture()
    try SystemCall.write(Array("secret".utf8), to: fixture.folders.secret)
    var work = fixture.shell("cat data/secret && exit 9; cat $BATON_PAYLOAD_FILE", items: .range(1...1))
    work.directory = fixture.root
    let runtime = try await fixture.run(work, payload: Array("payload".utf8))
    #expect(runtime.output.hasSuffix("payload"))
  }

  @Test("a link that it put in place of its folder for temporary files leads nowhere")
  func links() async throws {
    let fixture = try fixture()
    try FileManager.default.createDirectory(atPath: fixture.root + "/other", withIntermediateDirectories: true)
    let script = """
      test -e done && echo x > /tmp/ran && exit 0
      echo > done; mv "$TMPDIR" "$TMPDIR.old"; ln -s \(fixture.root)/other "$TMPDIR"
      """
    let error = try await fixture.failure(fixture.shell(script, items: .range(1...2)))
    #expect(error.code == .host && error.message.contains("could not fence"))
    #expect(fixture.names(in: fixture.root + "/other").isEmpty)
  }

  @Test("a batch that removed its folder for temporary files leaves a new one to the next batch")
  func removed() async throws {
    let fixture = try fixture()
    try await fixture.run(fixture.shell("echo > /tmp/x; rm -r \"$TMPDIR\" || true", items: .range(1...2)))
  }

  @Test(
    "where namespaces are forbidden, the host gives 'basic' and says why; the command does not run with less",
    .refuses(33))
  func forbidden() async throws {
    let helper = try #require(Fence.besideThisProgram)
    let limited = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    let forbid = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \(helper)"
    guard case .output(let answer) = await SystemCommand.system.run(limited + [forbid + " --probe"], .seconds(10))
    else { try Test.cancel("this machine has no unshare, or permits no user namespaces") }
    #expect(answer.hasPrefix("basic: namespaces cannot be applied: "))
    let fixture = try fixture()
    let command =
      "\(forbid) --fence --isolate --keep \(fixture.folders.launches) -- /bin/touch touch \(fixture.root)/ran"
    guard case .failed = await SystemCommand.system.run(limited + [command], .seconds(10)) else {
      Issue.record("the command ran without its namespaces")
      return
    }
    #expect(!FileManager.default.fileExists(atPath: fixture.root + "/ran"))
  }
}
