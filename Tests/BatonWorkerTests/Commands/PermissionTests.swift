import BatonModel
import ContractRows
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// What a host's owner allows of commands, on real files (`allow` in worker.yaml).
@Suite("What the owner of a host allows") struct PermissionTests {
  private func fixture(
    commands: [String]? = nil, directories: [String]? = nil
  ) throws -> CommandFixture {
    try CommandFixture { root in
      func patterns(_ texts: [String]?) -> [PathPattern]? {
        texts?.compactMap { PathPattern($0.replacing("ROOT", with: root)) }
      }
      return CommandConfinement(
        permissions: CommandPermissions(commands: patterns(commands), directories: patterns(directories)),
        helper: Fence.besideThisProgram)
    }
  }

  private func run(_ fixture: CommandFixture, _ command: String...) async throws {
    try await fixture.run(Work(command: command, directory: fixture.directory, items: .range(1...1)))
  }

  private func expectRefusal(_ fixture: CommandFixture, _ command: String..., directory: String? = nil) async throws {
    let work = Work(command: command, directory: directory ?? fixture.directory, items: .range(1...1))
    #expect(try await fixture.failure(work).code == .notPermitted)
    #expect(!fixture.names(in: fixture.directory).contains("ran"))
  }

  @Test("a program on the list runs, and no other does", .refuses(32))
  func list() async throws {
    let fixture = try fixture(commands: ["ROOT/work/bin/**", "/usr/bin/true"])
    try fixture.write("#!/bin/sh\necho \"$@\" > ran\n", to: "bin/deep/script", executable: true)
    try await run(fixture, "./bin/deep/script", "an argument")
    #expect(try fixture.read("ran") == "an argument 1\n")
    try await run(fixture, "true")
    try FileManager.default.removeItem(atPath: fixture.root + "/work/ran")
    try await expectRefusal(fixture, "/bin/sh", "-c", "echo x > ran")
    try await expectRefusal(fixture, "sh", "-c", "echo x > ran")
    try await expectRefusal(fixture, "/usr/bin/../bin/sh", "-c", "echo x > ran")
  }

  @Test("a link on the list to a program that is not on it does not run", .refuses(32))
  func link() async throws {
    let fixture = try fixture(commands: ["ROOT/work/*"])
    try FileManager.default.createSymbolicLink(atPath: fixture.root + "/work/tool", withDestinationPath: "/bin/sh")
    try await expectRefusal(fixture, "./tool", "-c", "echo x > ran")
  }

  @Test("a link that the owner named runs: the owner named it")
  func namedLink() async throws {
    let fixture = try fixture(commands: ["/bin/sh"])
    try await run(fixture, "/bin/sh", "-c", "echo x > ran")
    #expect(try fixture.read("ran") == "x\n")
  }

  @Test("an empty list permits nothing")
  func empty() async throws {
    try await expectRefusal(try fixture(commands: []), "true")
  }

  @Test("a working directory that is not on the list is refused, also behind a link; the launch's own is not")
  func directory() async throws {
    let fixture = try fixture(directories: ["ROOT/work/in/**"])
    try FileManager.default.createDirectory(
      atPath: fixture.root + "/work/in/deep", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: fixture.root + "/work/in/out", withDestinationPath: "/usr")
    for good in ["in", "in/deep"] {
      try await fixture.run(
        Work(command: ["true"], directory: fixture.directory + "/" + good, items: .range(1...1)))
    }
    try await fixture.run(Work(command: ["true"], items: .range(1...1)))
    try await expectRefusal(fixture, "true", directory: fixture.directory + "/in/out")
    try await expectRefusal(fixture, "true")
  }

  @Test(
    "what is swapped between the check and the start does not run", .refuses(32),
    arguments: ["program", "folder", "directory"])
  func swap(what: String) async throws {
    let fixture = try fixture()
    let files = FileManager.default
    try fixture.write("#!/bin/sh\nexit 0\n", to: "bin/tool", executable: true)
    try fixture.write("#!/bin/sh\necho x > \(fixture.directory)/ran\n", to: "evil/tool", executable: true)
    let tool = fixture.directory + "/bin/tool"
    let fence = Fence(
      helper: try #require(Fence.besideThisProgram), level: nil, kept: fixture.directory, program: tool,
      directory: what == "directory" ? fixture.directory + "/other" : nil)
    if what == "program" {
      try files.removeItem(atPath: tool)
      try files.createSymbolicLink(atPath: tool, withDestinationPath: fixture.directory + "/evil/tool")
    } else if what == "folder" {
      try files.moveItem(atPath: fixture.root + "/work/bin", toPath: fixture.root + "/work/old")
      try files.createSymbolicLink(
        atPath: fixture.root + "/work/bin", withDestinationPath: fixture.directory + "/evil")
    }
    let launch = ProcessLaunch(
      executable: tool, arguments: ["tool"], environment: [:], directory: fixture.directory, fence: fence)
    let error = await #expect(throws: SystemError.self) {
      try await launch.run(in: fixture.processes, folder: fixture.folders.launches) { _ in }
    }
    #expect(error?.code == .notPermitted)
    #expect(!fixture.names(in: fixture.directory).contains("ran"))
  }

  @Test("a worker refuses what its coordinator should not have assigned", .refuses(32))
  func worker() {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: .processing)
    definition.work = Work(command: ["/bin/sh"], directory: "/srv", sandbox: .basic)
    let host = HostName("desk")
    var able = Capabilities(slots: 1, sandbox: HostSandbox(required: .basic, available: .basic))
    #expect(throws: Never.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
    for permissions in [
      CommandPermissions(commands: []), CommandPermissions(directories: []), CommandPermissions(runsCommands: false),
      CommandPermissions(principals: []), CommandPermissions(principals: [PrincipalPattern("bob")!]),
    ] {
      able.permissions = permissions
      #expect(throws: CommandError.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
    }
    able.permissions = nil
    able.sandbox = HostSandbox(required: nil, available: nil, problem: "the kernel has no Landlock")
    #expect(throws: CommandError.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
    able.sandbox = HostSandbox(required: .basic, available: .basic)
    definition.work?.sandbox = .strict
    #expect(throws: CommandError.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
    definition.work?.sandbox = .basic
    definition.work?.user = "batonjob"
    for users in [nil, [], ["other"]] {
      able.permissions = CommandPermissions(users: users)
      #expect(throws: CommandError.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
    }
    able.sandbox = HostSandbox(required: nil, available: nil, problem: "the kernel has no Landlock")
    able.permissions = nil
    definition.work?.user = nil
    definition.work?.sandbox = nil
    #expect(throws: Never.self) { try able.demandPermission(for: definition, by: "alice", on: host) }
  }
}

@Suite("The sandbox that a host says it can give") struct SandboxProbeTests {
  @Test(
    "the answer of baton-exec, or why there is none",
    arguments: [
      (SystemCommand.Answer.output("strict\n"), SandboxLevel.strict as SandboxLevel?, ""),
      (.output("basic: namespaces cannot be applied: no\n"), .basic, "namespaces cannot be applied: no"),
      (.output("none: the kernel has no Landlock\n"), nil, "the kernel has no Landlock"),
      (.output("basic\n"), nil, "/opt/baton-exec is not Baton's"),
      (.failed("status 1"), nil, "baton-exec does not work: status 1"),
      (.missing, nil, "there is no /opt/baton-exec: install baton-exec beside the worker's program"),
    ])
  func answers(answer: SystemCommand.Answer, level: SandboxLevel?, problem: String) async {
    let commands = SystemCommand { _, _ in answer }
    let sandbox = await SandboxProbe.look(helper: "/opt/baton-exec", required: .basic, commands: commands)
    #expect(sandbox == HostSandbox(required: .basic, available: level, problem: problem))
  }

  @Test("a long reason is cut to what a coordinator accepts, on one line")
  func long() async {
    let commands = SystemCommand { _, _ in .failed(String(repeating: "é\n", count: 300)) }
    let sandbox = await SandboxProbe.look(helper: "/opt/baton-exec", required: nil, commands: commands)
    #expect(sandbox.problem.utf8.count <= 255)
    #expect(!sandbox.problem.contains("\n"))
  }
}
