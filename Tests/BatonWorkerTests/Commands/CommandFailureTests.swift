import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite struct CommandFailureTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test func `a status says where, and what the command wrote last`() async throws {
    let error = try await fixture.failure(fixture.shell("echo one; echo two >&2; exit 3", items: .range(1...2)))
    #expect(error.code == .exitStatus)
    #expect(
      error.message
        == "'/bin/sh' in \(fixture.directory) on box (batch 0 of com.example.export.photos, request 5) ended "
        + "with status 3; its last output was:\none\ntwo")
  }

  @Test(arguments: [1, 2])
  func `what a command wrote stays out of the reason if the definition says so, and in its logs`(
    count: Int64
  )
    async throws
  {
    // A command with items, and a command without items, which may keep a cursor.
    var work = fixture.shell("echo password=hunter2; exit 3", items: count == 1 ? nil : .range(1...count))
    work.failureOutput = FailureOutput.none
    let runtime = FakeRuntime()
    let error = try await fixture.failure(work, on: runtime)
    #expect(error.message.hasSuffix("ended with status 3; see 'baton logs' for what it wrote"))
    #expect(error.type == "exit 3")
    #expect(runtime.output == "password=hunter2\n")
  }

  @Test func `a message is never longer than what is kept of it`() async throws {
    let error = try await fixture.failure(fixture.shell("yes é | head -n 9000; exit 1", items: .range(1...1)))
    #expect(error.message.utf8.count <= LaunchOutcome.maximumErrorBytes)
    #expect(error.message.hasSuffix("é"))
  }

  @Test(arguments: [("KILL", "SIGKILL; the host may have run out of memory"), ("SEGV", "SIGSEGV"), ("TERM", "SIGTERM")])
  func `a signal from somewhere else is a failure that names it`(signal: String, text: String) async throws {
    let error = try await fixture.failure(fixture.shell("kill -\(signal) $$", items: .range(1...1)))
    #expect(error.code == .killed)
    #expect(error.message.contains(text))
  }

  @Test func `a command that is nowhere on PATH`() async throws {
    let error = try await fixture.failure(Work(command: ["no-such-command-anywhere"], items: .range(1...1)))
    #expect(error.code == .notFound)
    #expect(error.message.contains("'no-such-command-anywhere' on box"))
  }

  @Test func `a relative path without a directory says that the folder of the launch is empty`() async throws {
    let error = try await fixture.failure(Work(command: ["./run.py"], items: .range(1...1)))
    #expect(error.code == .notFound)
    #expect(
      error.message
        == "there is no command './run.py' on box: without 'directory' a command runs in an empty folder, which is "
        + "made for each launch; set 'directory' to the folder of the program, or write its whole path in 'command'")
    let named = try await fixture.failure(
      Work(command: ["./run.py"], directory: fixture.directory, items: .range(1...1)))
    #expect(named.message.contains("\(fixture.directory)/./run.py does not exist; put it there"))
  }

  @Test func `a path with a slash is relative to the working directory`() async throws {
    try fixture.write("#!/bin/sh\necho \"$0 $1\"\n", to: "bin/tool", executable: true)
    let runtime = try await fixture.run(
      Work(command: ["bin/tool"], directory: fixture.directory, items: .range(1...1)))
    #expect(runtime.output == "\(fixture.directory)/bin/tool 1\n")
  }

  @Test func `PATH is searched as the definition sets it`() async throws {
    try fixture.write("#!/bin/sh\necho found\n", to: "bin/tool", executable: true)
    try fixture.write("no program", to: "first/tool")
    let runtime = try await fixture.run(
      Work(
        command: ["tool"], items: .range(1...1),
        environment: ["PATH": "/nowhere:\(fixture.directory)/first:\(fixture.directory)/bin"]))
    #expect(runtime.output == "found\n")
  }

  @Test func `a file without permission, without an interpreter, of no format`() async throws {
    try fixture.write("#!/bin/sh\n", to: "plain")
    try fixture.write("#!/no/such/interpreter\n", to: "orphan", executable: true)
    try fixture.write("\u{1}\u{2}\u{3}", to: "garbage", executable: true)
    try fixture.write("x", to: "folder/x")
    for (name, text) in [
      ("./plain", "chmod +x"), ("./orphan", "interpreter"), ("./garbage", "#!/bin/sh"), ("./folder", "is not a file"),
    ] {
      let error = try await fixture.failure(
        Work(command: [name], directory: fixture.directory, items: .range(1...1)))
      #expect(error.code == .notExecutable)
      #expect(error.message.contains(text), "\(error.message)")
    }
  }

  @Test func `a working directory that is not there`() async throws {
    let error = try await fixture.failure(Work(command: ["true"], directory: "/no/such/folder"))
    #expect(error.code == .directoryMissing)
    #expect(error.message.contains("/no/such/folder is not a folder on box"))
    #expect(fixture.names(in: fixture.folders.launches).isEmpty)
  }
}
