import BatonModel
import BatonStore
import Foundation
import Testing

@testable import BatonCommands
@testable import BatonCoordinator
@testable import BatonJSON

/// The formats of what commands write, and the options that all of them have.
@Suite struct OutputTests {
  private static let requests: [RequestRecord] = [
    .example(1, "com.example.report", .ready) { $0.title = "yes" },
    .example(2, "com.example.report", number: 2, .running), .example(3, "com.example.news", .scheduled),
  ]

  @Test func `a list of names has each identifier once, for xargs`() async {
    let run = await World(Self.requests).baton("list", "-o", "name")
    #expect(run.output == "com.example.news\ncom.example.report\n")
  }

  @Test func `yaml has the objects of json`() async throws {
    let run = await World(Self.requests).baton("list", "com.example.news", "-o", "yaml")
    try Golden.expect(run.transcript, is: "list-yaml")
    #expect(await World().baton("list", "-o", "yaml").output == "[]\n")
  }

  @Test func `values are written so that every reader of YAML takes them for what they are`() {
    let nested: JSONValue = [
      "a": .array([["b": .bool(true), "c": .array([.array([.string("d")])])]]), "e": .object([]),
    ]
    let cases: [(JSONValue, String)] = [
      (.string("yes"), "\"yes\"\n"), (.string("a b"), "\"a b\"\n"), (.string("1e3"), "\"1e3\"\n"),
      (.string("com.example.a"), "com.example.a\n"), (.string(""), "\"\"\n"), (.string("a\nb"), "\"a\\nb\"\n"),
      (.array([]), "[]\n"), (.array([.integer(1), .null]), "- 1\n- null\n"),
      (nested, "a:\n  - b: true\n    c:\n      - - d\ne: {}\n"),
    ]
    for (value, text) in cases { #expect(value.yaml == text) }
  }

  @Test func `a wide table is not cut on a narrow terminal`() async {
    var world = World(Self.requests)
    world.terminal = CommandEnvironment.TerminalSize(columns: 40, rows: 24)
    let narrow = await world.baton("list")
    let wide = await world.baton("list", "-o", "wide")
    #expect(!narrow.output.contains("LAUNCHES"))
    #expect(wide.output.contains("LAUNCHES"))
    #expect(wide.output.contains(" SUBMITTED ") && wide.output.contains(" 2026-03-01T05:30:00Z "), "times as dates")
    #expect(!(await world.baton("list").output.contains("SUBMITTED")))
  }

  @Test(arguments: [
    ["drain", "alpha"], ["undrain", "alpha"], ["pause"], ["resume"], ["remove", "com.example.report"],
    ["evict", "com.example.report", "--host", "alpha"], ["submit", "com.example.report"],
    ["cancel", "com.example.report"], ["retry", "com.example.report"], ["start", "com.example.report"],
  ])
  func `what changes something has JSON, and is quiet if that is asked for`(arguments: [String]) async throws {
    func world() -> World {
      World(Self.requests) { state in
        state.evicted = [HostName("alpha")]
        state.cancellations = [
          .ended(RequestID(1), JobIdentifier(trusted: "com.example.report"), number: 1)
        ]
      }
    }
    let json = await world().baton(arguments + ["-o", "json"])
    #expect(json.status == 0, "\(json.error)")
    _ = try JSONSerialization.jsonObject(with: Data(json.output.utf8))
    let quiet = await world().baton(arguments + ["--quiet"])
    #expect(quiet.status == 0)
    #expect(quiet.output.isEmpty)
    #expect(quiet.error.isEmpty)
    let both = await world().baton(arguments + ["-q", "-o", "json"])
    #expect(both.status == 64)
  }

  @Test func `a drained host is told as JSON, with what runs there`() async throws {
    try Golden.expect(await World(Self.requests).baton("drain", "alpha", "-o", "json").transcript, is: "drain-json")
  }

  @Test(arguments: [("always", true), ("never", false), ("auto", false)])
  func `--color decides, wherever it stands`(word: String, isColoured: Bool) async {
    for arguments in [["list", "--color", word], ["--color=\(word)", "list"]] {
      let run = await World(Self.requests).baton(arguments)
      #expect(run.output.contains("\u{1B}[") == isColoured, "\(run.output)")
    }
  }

  @Test func `a colour that is none is a usage error, and what stands behind -- is no option`() async {
    let run = await World().baton("list", "--color", "blue")
    #expect(run.status == 64)
    #expect(run.error == "error: --color must be one of auto, always, never\n")
    #expect(ColourOption.split(["a", "--", "--color"]).0 == ["a", "--", "--color"])
  }

  private static let job = """
    identifier: com.example.report
    kind: continued
    title: Report
    work: {command: ["true"], items: {range: 1...2}}
    """

  @Test(arguments: [
    ["apply", "-"], ["apply", "-f", "-"], ["plan", "-f", "-"], ["submit", "-f", "-"], ["validate", "-"],
  ])
  func `a file can come from standard input`(arguments: [String]) async {
    var world = World()
    world.input = Self.job
    let run = await world.baton(arguments)
    #expect(run.status == (arguments[0] == "plan" ? 2 : 0), "\(run.error)")
    world.input = Self.job + "\nretires: 1\n"
    let bad = await world.baton(arguments)
    #expect(bad.status == 65)
    #expect(
      bad.error.hasPrefix("standard input:5:1: error: unknown key 'retires'; write retry: {limit: 3}"), "\(bad.error)")
  }

  @Test(arguments: [["apply"], ["apply", "-", "-f", "-"]])
  func `files have to be named, and standard input once`(arguments: [String]) async {
    #expect(await World().baton(arguments).status == 64)
  }

  @Test func `of a file that is not there, only a command that applies says that nothing was applied`() async {
    let name = "/no/such/job.yaml"
    for command in [["plan"], ["apply", "--dry-run"]] {
      let run = await World().baton(command + [name])
      #expect(run.status == 65)
      #expect(run.error.hasSuffix("error: 1 error in 1 file\n"), "\(run.error)")
    }
    #expect(await World().baton("apply", name).error.hasSuffix("error: 1 error in 1 file; nothing was applied\n"))
  }

  @Test func `job files in sub-folders are not read, and a warning names the folders`() async throws {
    try await withTemporaryFolder { folder in
      try write(Self.job, to: folder + "/job.yaml")
      for name in ["more", "empty"] {
        try FileManager.default.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: true)
      }
      try write(Self.job, to: folder + "/more/job.yaml")
      let world = World()
      let run = await world.baton("apply", folder)
      #expect(run.status == 0)
      #expect(
        run.error == "\(folder):1:1: warning: sub-folders are not searched, and more has job files: give it too\n")
      #expect(world.coordinator.calls.contains("apply com.example.report"))
      #expect(await World().baton("apply", "--strict", folder).status == 65)
      try write(Self.job, to: folder + "/empty/job.yaml")
      #expect(
        await World().baton("validate", folder).error.contains("and empty, more have job files: give them too\n"))
    }
  }
}
