import BatonHandler
import BatonModel
import Foundation
import Synchronization
import Testing

@testable import BatonProcess
@testable import BatonWorker

/// The folders of a worker, and a working directory for commands. Both are removed with the fixture.
final class CommandFixture: Sendable {
  let root: String
  let folders: WorkerFolders
  let processes: ProcessRegistry
  let clock = ManualTime()
  /// How commands are confined. With BATON_TEST_FENCE=basic or strict in the environment, all tests of commands run
  /// behind that fence.
  let confinement: CommandConfinement

  /// - Parameter usesStarter: whether `baton-exec` starts the commands, as it does in a worker.
  init(
    usesStarter: Bool = true, confinement: (_ root: String) -> CommandConfinement = CommandFixture.standard
  ) throws {
    root = FileManager.default.temporaryDirectory.path + "/baton-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: root + "/work", withIntermediateDirectories: true)
    folders = try WorkerFolders(data: root + "/data")
    self.confinement = confinement(folders.data.replacing("/data", with: "", maxReplacements: 1))
    processes = ProcessRegistry(
      folders: folders, helper: usesStarter ? self.confinement.helper ?? Fence.besideThisProgram : nil)
  }

  /// - Parameter root: the fixture's folder, without symbolic links.
  static func standard(_ root: String) -> CommandConfinement {
    ProcessInfo.processInfo.environment["BATON_TEST_FENCE"].flatMap(SandboxLevel.init).map { fenced(root, $0) } ?? .none
  }

  /// What a worker does by default: the sandbox, with the worker's own folder hidden.
  static func fenced(_ root: String) -> CommandConfinement { fenced(root, .basic) }

  static func fenced(_ root: String, _ level: SandboxLevel) -> CommandConfinement {
    CommandConfinement(helper: Fence.besideThisProgram, level: level, hidden: [root + "/data", root + "/token"])
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  var directory: String { folders.data.replacing("/data", with: "/work", maxReplacements: 1) }

  func write(_ text: String, to name: String, executable: Bool = false) throws {
    let path = root + "/work/" + name
    let folder = (path as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    if executable { try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path) }
  }

  func shell(_ script: String, items: Items? = nil, batchSize: Int = 1, pass: ItemPassing = .arguments) -> Work {
    Work(
      command: ["/bin/sh", "-c", script, "sh"], directory: directory, items: items, batchSize: batchSize, pass: pass)
  }

  /// - Parameters:
  ///   - spread: how the definition divides its requests.
  ///   - shard: the shard that the launch works on.
  func runner(
    _ work: Work, kind: JobKind = .processing, payload: [UInt8]? = nil, inputs: [RequestInput] = [],
    spread: Spread? = nil, shard: Shard? = nil
  ) -> CommandRunner {
    var definition = Definition(pattern: IdentifierPattern("com.example.export.*")!, kind: kind)
    definition.work = work
    definition.spread = spread
    var assignment = Assignment(
      launch: LaunchKey(request: RequestID(7), number: 2), identifier: JobIdentifier("com.example.export.photos")!,
      requestNumber: 5, definition: DefinitionID(1), priority: .utility, payload: payload,
      trace: TraceContext(traceparent: "00-01010101010101010101010101010101-0202020202020202-01")!,
      startedAt: Timestamp(nanoseconds: 0))
    assignment.inputs = inputs
    assignment.shard = shard
    return CommandRunner(
      definition: definition, assignment: assignment, folders: folders, host: HostName("box"), processes: processes,
      time: clock.time, confinement: confinement)
  }

  @discardableResult
  func run(
    _ work: Work, on runtime: FakeRuntime = FakeRuntime(), kind: JobKind = .processing, payload: [UInt8]? = nil,
    inputs: [RequestInput] = [], spread: Spread? = nil, shard: Shard? = nil
  ) async throws -> FakeRuntime {
    try await runner(work, kind: kind, payload: payload, inputs: inputs, spread: spread, shard: shard).run(runtime)
    return runtime
  }

  /// Runs work that must fail, and returns its error.
  func failure(
    _ work: Work, on runtime: FakeRuntime = FakeRuntime(), kind: JobKind = .processing
  ) async throws -> CommandError {
    try #require(await #expect(throws: CommandError.self) { try await self.run(work, on: runtime, kind: kind) })
  }

  /// Runs the work, lets its launch expire when `ready` returns, and returns the result.
  func expire(
    _ work: Work, on runtime: FakeRuntime = FakeRuntime(), reason: ExpiryReason? = .draining,
    when ready: @Sendable () async -> Void, then: @Sendable () async -> Void = {}
  ) async -> Result<Void, any Error> {
    let task = Task { try await self.run(work, on: runtime) }
    await ready()
    runtime.expire(reason.map { Expiry(reason: $0, deadline: clock.start + .seconds(30)) })
    task.cancel()
    await then()
    return await task.result.map { _ in () }
  }
}

/// Returns when the process has ended. It waits without a limit, so use it only for a process that is sure to end.
func waitForEnd(of pid: Int32) async {
  while let entry = ProcessTable.entry(of: pid), !entry.isZombie { await Task.yield() }
}

/// A clock that moves only when the test moves it.
final class ManualTime: Sendable {
  let start = ContinuousClock.now
  private let state = Mutex(State())

  private struct State {
    var offset = Duration.zero
    var sleepers: [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var next = 0
    var watchers: [(until: Duration, continuation: CheckedContinuation<Void, Never>)] = []
  }

  var time: CommandTime {
    CommandTime(now: { self.start + self.state.withLock { $0.offset } }, sleep: { try await self.sleep(until: $0) })
  }

  /// Sets the clock to `offset` after the start, and wakes the sleepers that are due.
  func advance(to offset: Duration) {
    let due = state.withLock { state in
      state.offset = offset
      let due = state.sleepers.filter { $0.value.until <= offset }
      for key in due.keys { state.sleepers[key] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  /// Returns when a task sleeps until `offset` after the start.
  func sleeper(until offset: Duration) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.sleepers.values.contains(where: { $0.until == offset }) { return true }
        state.watchers.append((offset, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  private func sleep(until instant: ContinuousClock.Instant) async throws {
    let until = instant - start
    let key = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in add(continuation, key, until) }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: key) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private func add(_ continuation: CheckedContinuation<Void, any Error>, _ key: Int, _ until: Duration) {
    let (result, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) = state.withLock { state in
      if Task.isCancelled { return (.failure(CancellationError()), []) }
      if until <= state.offset { return (.success(()), []) }
      state.sleepers[key] = (until, continuation)
      let watchers = state.watchers.filter { $0.until == until }.map(\.continuation)
      state.watchers.removeAll { $0.until == until }
      return (nil, watchers)
    }
    if let result { continuation.resume(with: result) }
    for watcher in watchers { watcher.resume() }
  }
}

extension CommandFixture {
  /// The content of a file in the working directory.
  func read(_ name: String) throws -> String { try String(contentsOfFile: root + "/work/" + name, encoding: .utf8) }

  func names(in folder: String) -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
