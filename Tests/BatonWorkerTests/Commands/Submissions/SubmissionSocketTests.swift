import BatonHandler
import BatonModel
import Foundation
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// A command submits through a socket in the folder of its launch.
@Suite(.timeLimit(.minutes(5))) struct SubmissionSocketTests {
  /// A program that writes its arguments to the socket, a line each, and prints the answers.
  private static let client = """
    import os, socket, sys
    for line in sys.argv[1:]:
        with socket.socket(socket.AF_UNIX) as worker:
            worker.connect(os.environ["BATON_SUBMIT_SOCKET"])
            worker.sendall(line.encode() + b"\\n")
            print(worker.makefile().readline().strip())
    """

  private func run(
    _ lines: [String], items: Items? = nil, on runtime: FakeRuntime = FakeRuntime(),
    in fixture: CommandFixture, maySubmit: Bool = true
  ) async throws -> [String] {
    var runner = fixture.runner(
      Work(
        command: ["/usr/bin/python3", "-c", Self.client] + lines, directory: fixture.directory, items: items,
        pass: items == nil ? .arguments : .stdin))
    if maySubmit {
      var definition = runner.definition
      definition.maySubmit = [IdentifierPattern("com.example.report")!]
      runner = CommandRunner(
        definition: definition, assignment: runner.assignment, folders: fixture.folders, host: HostName("box"),
        processes: fixture.processes, time: fixture.clock.time, confinement: fixture.confinement)
    }
    try await runner.run(runtime)
    return runtime.output.split(separator: "\n").map(String.init)
  }

  @Test(arguments: await [nil] + ThisMachine.levels().map(Optional.some))
  func `a submission has all that its line says, in the sandbox too`(level: SandboxLevel?) async throws {
    let fixture = try CommandFixture { root in level.map { CommandFixture.fenced(root, $0) } ?? .none }
    let runtime = FakeRuntime()
    let output = try await run(
      [
        #"{"identifier": "com.example.report", "payload": "{\"day\": 1}", "afterMilliseconds": 1500}"#,
        #"{"identifier": "com.example.report", "name": "other", "payloadBase64": "AAE=", "priority": "utility"}"#,
        #"{"identifier": "com.example.report", "name": "other"}"#,
      ], on: runtime, in: fixture)
    #expect(
      output.first
        == #"{"eligibleAt":5,"identifier":"com.example.report","isRepeat":false,"number":7,"replaced":false,"state":"ready"}"#
    )
    #expect(output.last?.contains(#""isRepeat":true"#) == true, "\(output)")
    let identifier = JobIdentifier("com.example.report")!
    #expect(
      runtime.submissions == [
        LaunchSubmission(
          name: "com.example.report", identifier: identifier, payload: Array(#"{"day": 1}"#.utf8),
          earliestBeginDate: .afterSubmission(.milliseconds(1500))),
        LaunchSubmission(name: "other", identifier: identifier, payload: [0, 1], priority: .utility),
      ])
  }

  @Test func `the batch belongs to the name if the command runs once for each`() async throws {
    let runtime = FakeRuntime()
    _ = try await run(
      [#"{"identifier": "com.example.report"}"#], items: .range(1...3), on: runtime, in: CommandFixture())
    #expect(runtime.submissions.map(\.name) == (0...2).map { "com.example.report#\($0)" })
  }

  @Test func `a refusal has its code, and a malformed line says what is wrong`() async throws {
    let runtime = FakeRuntime()
    runtime.refuse(HandlerError(.submissionRefused, "add it to 'maySubmit'", refusal: .notPermitted))
    let lines = [
      (#"{"identifier": "com.example.report"}"#, #"{"code":"notPermitted","message":"add it to 'maySubmit'"}"#),
      ("no", "this is not a request"), (#"{"identifer": "a.b"}"#, "this is not a request"),
      (#"{"identifier": "a.b", "colour": 1}"#, "unknown key 'colour'"),
      (#"{"identifier": "no identifier"}"#, "is not an identifier"),
      (#"{"identifier": "a.b", "payload": "", "payloadBase64": ""}"#, "not both"),
      (#"{"identifier": "a.b", "payloadBase64": "%"}"#, "is not base64"),
      (#"{"identifier": "a.b", "afterMilliseconds": -1}"#, "afterMilliseconds is from 0"),
      (#"{"identifier": "a.b", "priority": "high"}"#, "a priority is"),
      (#"{"identifier": "a.b", "name": ""}"#, "1 to 255 bytes"),
      (#"{"identifier": "a.b", "payload": ""# + String(repeating: "x", count: 65_537) + #""}"#, "has 65537 bytes"),
    ]
    let output = try await run(lines.map(\.0), on: runtime, in: CommandFixture())
    try #require(output.count == lines.count)
    for (line, answer) in zip(lines, output) { #expect(answer.contains(line.1), "\(line.0.prefix(80)): \(answer)") }
    #expect(runtime.submissions.isEmpty)
  }

  @Test func `a command of a definition without maySubmit has no socket`() async throws {
    await #expect(throws: CommandError.self) {
      try await run([#"{"identifier": "com.example.report"}"#], in: CommandFixture(), maySubmit: false)
    }
  }

  @Test func `the socket is in the launch's folder, for its user alone, and goes with it`() async throws {
    let fixture = try CommandFixture()
    let folder = try LaunchFolder(fixture.folders.folder(of: LaunchKey(request: RequestID(1), number: 1)))
    do {
      let socket = try SubmissionSocket(in: folder, for: nil)
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.submissionSocket)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      withExtendedLifetime(socket) {}
    }
    await folder.remove()
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test func `a folder with a long path has a socket too`() async throws {
    let fixture = try CommandFixture()
    let path = fixture.root + "/" + String(repeating: "long", count: 30)
    let folder = try LaunchFolder(path)
    let socket = try SubmissionSocket(in: folder, for: nil)
    let serving = Task {
      await socket.serve { request in
        AcceptedSubmission(
          identifier: JobIdentifier(request.identifier)!, number: 1, state: .ready,
          eligibleAt: Timestamp(nanoseconds: 0), replaced: false, isRepeat: false)
      }
    }
    let submission = LaunchSubmission(name: "a", identifier: JobIdentifier("com.example.report")!)
    let reply = try await SubmissionSocketClient(path: folder.submissionSocket).submit(submission, name: nil)
    #expect(reply.number == 1)
    serving.cancel()
    await serving.value
    await folder.remove()
  }
}
