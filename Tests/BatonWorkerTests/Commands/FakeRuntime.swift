import BatonHandler
import BatonModel
import Synchronization

@testable import BatonWorker

/// A runtime in memory, in place of the store and the connection. It records what a command asks of it.
final class FakeRuntime: CommandRuntime {
  struct State {
    var progress = Progress()
    var expiry: Expiry?
    var items: [String] = []
    var frozenItems: Int?
    var commits: [Commit] = []
    var output: [UInt8] = []
    var outputBytes = 0
    var pages: [Int] = []
    var result: RefreshResult?
    var submissions: [LaunchSubmission] = []
    var refusal: HandlerError?
    var watchers: [(condition: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  }

  let state: Mutex<State>
  /// Called before a commit is recorded. It may throw or wait.
  let beforeCommit: @Sendable (Commit) async throws -> Void

  init(
    progress: Progress = Progress(), frozen: [String]? = nil,
    beforeCommit: @escaping @Sendable (Commit) async throws -> Void = { _ in }
  ) {
    state = Mutex(State(progress: progress, items: frozen ?? [], frozenItems: frozen?.count))
    self.beforeCommit = beforeCommit
  }

  var expiry: Expiry? { state.withLock { $0.expiry } }
  var progress: Progress { state.withLock { $0.progress } }
  var frozenItems: Int? { state.withLock { $0.frozenItems } }
  var commits: [Commit] { state.withLock { $0.commits } }
  var output: String { state.withLock { String(decoding: $0.output, as: UTF8.self) } }
  /// The number of bytes that were written, including those that `output` no longer has.
  var outputBytes: Int { state.withLock { $0.outputBytes } }
  var items: [String] { state.withLock { $0.items } }
  var pages: [Int] { state.withLock { $0.pages } }
  var result: RefreshResult? { state.withLock { $0.result } }

  func conclude(_ result: RefreshResult) { change { $0.result = result } }

  func commit(_ commit: Commit) async throws {
    try await beforeCommit(commit)
    change { state in
      state.commits.append(commit)
      state.progress = Progress(
        batches: state.progress.batches + (commit.isEndOnly ? 0 : 1), cursor: commit.cursor ?? state.progress.cursor,
        completedUnits: commit.completedUnits, totalUnits: commit.totalUnits)
    }
  }

  func freeze(_ items: [String], start: Int, isLast: Bool) async throws {
    change { state in
      if start == 0 { state.items = [] }
      precondition(start == state.items.count, "pages come in order")
      state.items += items
      state.pages.append(items.count)
      if isLast { state.frozenItems = state.items.count }
    }
  }

  func items(start: Int, count: Int) async throws -> [String] {
    state.withLock { Array($0.items[start..<(start + count)]) }
  }

  var submissions: [LaunchSubmission] { state.withLock { $0.submissions } }

  /// Lets every later submission be refused.
  func refuse(_ error: HandlerError) { change { $0.refusal = error } }

  func submit(_ submission: LaunchSubmission) async throws -> AcceptedSubmission {
    if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    let isRepeat = submissions.contains { $0.name == submission.name }
    if !isRepeat { change { $0.submissions.append(submission) } }
    return AcceptedSubmission(
      identifier: submission.identifier, number: 7, state: .ready, eligibleAt: Timestamp(nanoseconds: 5),
      replaced: false, isRepeat: isRepeat)
  }

  func output(_ bytes: [UInt8]) {
    change { state in
      state.outputBytes += bytes.count
      state.output = Array((state.output + bytes).suffix(64 << 10))
    }
  }

  func update(title: String?, subtitle: String?, completedUnits: Int64?, totalUnits: Int64?) {}

  func expire(_ expiry: Expiry?) { change { $0.expiry = expiry } }

  /// Returns when `condition` holds.
  func wait(until condition: @escaping @Sendable (State) -> Bool) async {
    await withCheckedContinuation { continuation in
      let holds = state.withLock { state in
        if condition(state) { return true }
        state.watchers.append((condition, continuation))
        return false
      }
      if holds { continuation.resume() }
    }
  }

  func waitForOutput(_ text: String) async {
    await wait { String(decoding: $0.output, as: UTF8.self).contains(text) }
  }

  private func change(_ body: (inout State) -> Void) {
    let due = state.withLock { state in
      body(&state)
      let (snapshot, watchers) = (state, state.watchers)
      state.watchers = watchers.filter { !$0.condition(snapshot) }
      return watchers.filter { $0.condition(snapshot) }
    }
    for watcher in due { watcher.continuation.resume() }
  }
}
