import BatonHandler
import BatonModel
import Testing

@testable import BatonProcess
@testable import BatonWorker

@Suite struct BatchTests {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  @Test func `a range runs batch by batch, each committed before the next`() async throws {
    let runtime = try await fixture.run(
      fixture.shell(#"echo "$BATON_BATCH: $*" >> log"#, items: .range(1...5), batchSize: 2))
    #expect(try fixture.read("log") == "0: 1 2\n1: 3 4\n2: 5\n")
    #expect(
      runtime.commits == [
        Commit(cursor: nil, completedUnits: 2, totalUnits: 5), Commit(cursor: nil, completedUnits: 4, totalUnits: 5),
        Commit(cursor: nil, completedUnits: 5, totalUnits: 5, reachesEnd: true),
      ])
  }

  @Test func `a resumed launch begins after the last commit`() async throws {
    let runtime = FakeRuntime(progress: Progress(batches: 3, completedUnits: 6, totalUnits: 8))
    try await fixture.run(
      fixture.shell(#"echo "$BATON_BATCH: $*" >> log"#, items: .range(1...8), batchSize: 2), on: runtime)
    #expect(try fixture.read("log") == "3: 7 8\n")
  }

  @Test func `frozen items come from the store, however many pages`() async throws {
    let items = (0..<2500).map { "item \($0)" }
    let runtime = FakeRuntime(frozen: items)
    try await fixture.run(
      fixture.shell(#"printf '%s\n' "$@" >> log"#, items: .glob("unused"), batchSize: 400), on: runtime)
    #expect(try fixture.read("log") == items.map { $0 + "\n" }.joined())
    #expect(runtime.commits.count == 7)
  }

  @Test(arguments: [Items.list([]), .glob("*.none"), .lines("empty")])
  func `no items is success, 0 of 0`(items: Items) async throws {
    try fixture.write("", to: "empty")
    let runtime = try await fixture.run(fixture.shell("exit 1", items: items))
    #expect(runtime.commits == [Commit(cursor: nil, completedUnits: 0, totalUnits: 0, reachesEnd: true)])
  }

  @Test(arguments: [
    (ItemPassing.arguments, #"for i; do printf '[%s]' "$i"; done"#),
    (.stdin, #"while IFS= read -r i; do printf '[%s]' "$i"; done"#),
    (.file, #"test "$1" = "$BATON_ITEMS_FILE"; while IFS= read -r i; do printf '[%s]' "$i"; done < "$1""#),
  ])
  func `items arrive as they are`(pass: ItemPassing, script: String) async throws {
    let items = ["plain", "two words", "ümläut 日本", "$HOME `id` *", "-n", "'\"\\"]
    let runtime = try await fixture.run(fixture.shell(script, items: .list(items), batchSize: 9, pass: pass))
    #expect(runtime.output == items.map { "[\($0)]" }.joined())
  }

  @Test func `a line break is an argument like any other`() async throws {
    let runtime = try await fixture.run(fixture.shell(#"printf '[%s]' "$@""#, items: .list(["a\nb"])))
    #expect(runtime.output == "[a\nb]")
  }

  @Test(arguments: [ItemPassing.stdin, .file])
  func `a line break cannot go one per line, and nothing runs`(pass: ItemPassing) async throws {
    let error = try await fixture.failure(fixture.shell("touch ran", items: .list(["a\nb"]), pass: pass))
    #expect(error.code == .badItems)
    #expect(error.message.contains(#""a\nb""#))
    #expect(throws: (any Error).self) { try fixture.read("ran") }
  }

  @Test func `a command need not read its input`() async throws {
    let items = (0..<100_000).map { "a rather long item, number \($0)" }
    let runtime = try await fixture.run(fixture.shell("exit 0", items: .list(items), batchSize: 100_000, pass: .stdin))
    #expect(runtime.commits.count == 1)
  }

  @Test func `too many arguments name batchSize`() async throws {
    let items = (0..<100).map { _ in String(repeating: "x", count: 100_000) }
    let error = try await fixture.failure(fixture.shell("exit 0", items: .list(items), batchSize: 100))
    #expect(error.code == .argumentsTooLong)
    #expect(error.message.contains("batchSize"))
  }

  @Test func `a superseded launch stops where its commit is refused`() async throws {
    let runtime = FakeRuntime { _ in throw HandlerError(.superseded, "launch 3 is live") }
    await #expect(throws: HandlerError.self) {
      try await self.fixture.run(self.fixture.shell("echo x >> log", items: .range(1...3)), on: runtime)
    }
    #expect(try fixture.read("log") == "x\n")
  }

  @Test func `nothing of a launch is left`() async throws {
    try await fixture.run(fixture.shell("touch $TMPDIR/x", items: .range(1...2)))
    #expect(fixture.names(in: fixture.folders.launches).isEmpty)
  }
}
