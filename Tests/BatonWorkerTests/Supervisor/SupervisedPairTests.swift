import Foundation
import Synchronization
import Testing

@testable import BatonProcess

/// A worker and the process of the transfers below one supervisor. Shell scripts take their places.
@Suite(.timeLimit(.minutes(5))) final class SupervisedPairTests: Sendable {
  private let folder = FileManager.default.temporaryDirectory.path + "/baton-test-" + UUID().uuidString

  init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func shell(_ script: String, _ role: SupervisedProcess.Role = .worker) -> SupervisorShell {
    let functions = "await() { while ! [ -e $1 ]; do sleep 0.01; done; }"
    return SupervisorShell(
      executable: "/bin/sh", arguments: ["sh", "-c", "cd \(folder); \(functions); \(script)"], role: role, cleanUp: {},
      onDeath: { _ in }, sleep: { _ in })
  }

  private func text(_ name: String) -> String {
    (try? String(contentsOfFile: folder + "/" + name, encoding: .utf8)) ?? ""
  }

  private func run(
    worker: String, transfers: String, signals: AsyncStream<Int32> = AsyncStream { _ in }
  ) async throws -> Int32 {
    try await SupervisedPair(worker: shell(worker), second: shell(transfers, .transfers)).run(signals: signals)
  }

  private static let waits = "trap 'touch stopped; exit 1' TERM; echo $$ >> starts; while :; do sleep 0.01; done"

  @Test func `the transfers go on when the worker dies, and end with the last worker`() async throws {
    let status = try await run(
      worker: "await starts; [ -e died ] && exit 65; touch died; kill -9 $$", transfers: Self.waits)
    #expect(status == 65)
    #expect(text("starts").split(separator: "\n").count == 1, "the transfers were started again")
    #expect(FileManager.default.fileExists(atPath: folder + "/stopped"), "the transfers were not asked to stop")
  }

  @Test func `transfers that are killed start again, and the worker goes on`() async throws {
    let status = try await run(
      worker: "echo $$ >> workers; await again; exit 0",
      transfers: "[ -e once ] || { touch once; kill -9 $$; }; touch again; \(Self.waits)")
    #expect(status == 0)
    #expect(text("workers").split(separator: "\n").count == 1)
  }

  @Test func `each process knows what it is`() async throws {
    _ = try await run(
      worker: "echo $BATON_SUPERVISED_ROLE > worker; await transfers; exit 0",
      transfers: "echo $BATON_SUPERVISED_ROLE > transfers; \(Self.waits)")
    #expect(text("worker") == "worker\n" && text("transfers") == "transfers\n")
  }

  @Test func `a signal that asks to stop reaches both`() async throws {
    let (signals, signal) = AsyncStream<Int32>.makeStream()
    async let status = run(
      worker: "trap 'touch asked; await stopped; exit 0' TERM; await starts; touch ready; while :; do sleep 0.01; done",
      transfers: Self.waits, signals: signals)
    while !FileManager.default.fileExists(atPath: folder + "/ready") { await Task.yield() }
    signal.yield(SIGTERM)
    // The worker waits until the transfers were asked, so both have been.
    #expect(try await status == 0)
  }

  @Test func `transfers that cannot be started do not keep the worker from its work`() async throws {
    let missing = SupervisorShell(
      executable: folder + "/missing", arguments: ["missing"], role: .transfers, cleanUp: {}, onDeath: { _ in },
      sleep: { _ in })
    let pair = SupervisedPair(worker: shell("exit 65"), second: missing)
    #expect(try await pair.run(signals: AsyncStream { _ in }) == 65)
  }

  @Test func `transfers that do not stop are killed`() async throws {
    var pair = SupervisedPair(
      worker: shell("await ready; exit 65"),
      second: shell("trap '' TERM; echo $$ > ready; while :; do sleep 0.01; done", .transfers))
    pair.sleep = { _ in }
    #expect(try await pair.run(signals: AsyncStream { _ in }) == 65)
    let pid = try #require(Int32(text("ready").trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(kill(pid, 0) != 0, "the transfers still run")
  }

  @Test func `leftovers are not killed while the transfers are being started or reaped`() async {
    let turn = ChildTurn()
    let log = Log()
    await turn.take()
    async let second: Void = log.note("second", holding: turn)
    log.note("first")
    turn.give()
    await second
    // It is free again.
    await turn.take()
    turn.give()
    #expect(log.words == ["first", "second"])
  }
}

/// What happened, in its order.
private final class Log: Sendable {
  private let state = Mutex<[String]>([])

  var words: [String] { state.withLock { $0 } }
  func note(_ word: String) { state.withLock { $0.append(word) } }

  func note(_ word: String, holding turn: ChildTurn) async {
    await turn.take()
    note(word)
    turn.give()
  }
}
