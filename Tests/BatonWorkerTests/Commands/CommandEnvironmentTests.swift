import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite struct CommandEnvironmentTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test func `the environment is clean`() async throws {
    var work = Work(command: ["/usr/bin/env"], directory: fixture.directory, items: .range(1...1), pass: .stdin)
    work.environment = ["QUALITY": "85 $${x}", "BATON_HOST": "mine"]
    let runtime = try await fixture.run(work)
    let names = runtime.output.split(separator: "\n").map { String($0.prefix { $0 != "=" }) }
    let locale = names.filter { $0.hasPrefix("LC_") || $0 == "LANG" }
    let given: Set = [
      "PATH", "HOME", "TMPDIR", "QUALITY", "BATON_IDENTIFIER", "BATON_REQUEST", "BATON_LAUNCH", "BATON_BATCH",
      "BATON_HOST", "BATON_PAYLOAD_FILE", "BATON_CHECKPOINT_FILE", "BATON_EXPIRY_FILE", "BATON_PROGRESS_FD",
      "TRACEPARENT",
    ]
    #expect(Set(names).subtracting(locale) == given)
    let own = Set(ProcessInfo.processInfo.environment.keys)
    try #require(own.contains { !given.contains($0) && !$0.hasPrefix("L") }, "something to keep back")
    for line in [
      "QUALITY=85 $${x}", "BATON_IDENTIFIER=com.example.export.photos", "BATON_REQUEST=5", "BATON_LAUNCH=2",
      "BATON_BATCH=0", "BATON_HOST=box",
      "TRACEPARENT=00-01010101010101010101010101010101-0202020202020202-01",
    ] {
      #expect(runtime.output.contains(line + "\n"))
    }
  }

  @Test func `the wildcard is put into the words of the command`() async throws {
    let runtime = try await fixture.run(
      Work(
        command: ["/bin/sh", "-c", "echo $1", "sh", "--to=${wildcard}"], directory: fixture.directory,
        items: .range(1...1)))
    #expect(runtime.output == "--to=photos\n")
  }

  @Test func `a shell's own placeholder reaches the shell`() async throws {
    let script = #"f=clip.mov; echo "$${f%.*}.mp4" "$${wildcard:-none}" ${wildcard}"#
    #expect(try await fixture.run(fixture.shell(script)).output == "clip.mp4 none photos\n")
  }

  @Test func `a word that nobody can read starts nothing`() async throws {
    let error = try await fixture.failure(fixture.shell("echo ${f%.*}"))
    #expect(error.code == .badCommand)
    #expect(error.message.contains("com.example.export.*"))
  }

  @Test func `of the locale only what names one is passed on`() throws {
    let folder = try LaunchFolder(fixture.root + "/launch")
    let environment = CommandEnvironment(
      worker: [
        "LANG": "de_DE.UTF-8@euro", "LC_ALL": "C.UTF-8", "LC_TIME": "../../tmp/evil", "LC_NAME": "a b", "LC_PAPER": "",
        "LC_NUMERIC": "C\n", "LC_SECRET": "C", "LC_": "C", "LC_MESSAGES": String(repeating: "a", count: 65),
      ], work: Work(command: ["x"]), assignment: fixture.runner(fixture.shell("")).assignment, host: HostName("box"),
      folder: folder
    ).variables(batch: 0).filter { $0.key.hasPrefix("L") }
    #expect(environment == ["LANG": "de_DE.UTF-8@euro", "LC_ALL": "C.UTF-8"])
  }

  @Test func `the time of the schedule is told to a request that has one`() throws {
    var assignment = fixture.runner(fixture.shell("")).assignment
    func time() throws -> String? {
      CommandEnvironment(
        worker: [:], work: Work(command: ["x"]), assignment: assignment, host: HostName("box"),
        folder: try LaunchFolder(fixture.root + "/launch")
      ).variables(batch: 0)["BATON_SCHEDULED_TIME"]
    }
    #expect(try time() == nil)
    assignment.scheduledAt = Timestamp(nanoseconds: 1_767_229_200_000_000_000)
    #expect(try time() == "2026-01-01T01:00:00Z")
  }

  @Test func `a command of a shard is told its number, and how many shards there are if the definition says it`()
    async throws
  {
    let script = #"echo "$${BATON_SHARD-none} of $${BATON_SHARDS-none}""#
    #expect(try await fixture.run(fixture.shell(script)).output == "none of none\n")
    let numbered = Spread(lanes: 4, shards: 10)
    let third = try await fixture.run(fixture.shell(script), spread: numbered, shard: Shard(index: 2, first: 2))
    #expect(third.output == "2 of 10\n")
    // A list of items is cut into more and more shards while the request runs.
    let ofItems = try await fixture.run(
      fixture.shell(script, items: .range(1...1)), spread: Spread(lanes: 4), shard: Shard(index: 0, first: 0, end: 1))
    #expect(ofItems.output == "0 of none\n")
  }

  @Test func `payload and checkpoint lie in files, and are empty when there is none`() async throws {
    let script = #"cat "$BATON_PAYLOAD_FILE"; echo -; cat "$BATON_CHECKPOINT_FILE"; echo -; ls -A"#
    let work = Work(command: ["/bin/sh", "-c", script])
    #expect(try await fixture.run(work).output == "-\n-\n")
    let runtime = FakeRuntime(progress: Progress(batches: 1, cursor: Array(#"{"a": 1}"#.utf8)))
    #expect(try await fixture.run(work, on: runtime, payload: Array("load".utf8)).output == "load-\n{\"a\": 1}-\n")
  }

  @Test func `the GPUs of a launch are the ones it sees`() throws {
    let folder = try LaunchFolder(fixture.root + "/launch")
    let environment = CommandEnvironment(
      worker: [:], work: Work(command: ["x"]), assignment: fixture.runner(fixture.shell("")).assignment,
      gpus: ["GPU-8f", "/dev/dri/renderD129", "GPU-11"], host: HostName("box"), folder: folder)
    #expect(environment.variables(batch: 0)["CUDA_VISIBLE_DEVICES"] == "GPU-8f,GPU-11")
    #expect(environment.variables(batch: 0)["BATON_GPUS"] == "GPU-8f,/dev/dri/renderD129,GPU-11")
    #expect(environment.path == SystemCommand.standardPath)
  }
}
