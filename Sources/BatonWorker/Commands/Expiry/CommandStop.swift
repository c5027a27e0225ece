import BatonHandler
import BatonModel
import Synchronization

/// The wish that a launch's command stops: made once, by whoever cancels the launch, and carried out on whichever
/// process runs then.
final class CommandStop: Sendable {
  private let behaviour: ExpiryBehaviour
  private let margin: Duration
  private let time: CommandTime
  private let state = Mutex(State.running(folder: nil, waiter: nil))

  private enum State {
    /// Nobody asked. `waiter` is the batch that has to be told.
    case running(folder: LaunchFolder?, waiter: CheckedContinuation<Void, Never>?)
    /// Nil for a withdrawal.
    case stopping(Expiry?)
  }

  init(behaviour: ExpiryBehaviour, margin: Duration, time: CommandTime) {
    self.behaviour = behaviour
    self.margin = margin
    self.time = time
  }

  var isStopped: Bool {
    state.withLock { if case .stopping = $0 { true } else { false } }
  }

  /// Names the folder with the file that tells the command; it appears now if the launch was stopped before.
  func announces(in folder: LaunchFolder) {
    let expiry: Expiry? = state.withLock { state in
      if case .stopping(let expiry) = state { return expiry }
      state = .running(folder: folder, waiter: nil)
      return nil
    }
    if let expiry { announce(expiry, in: folder) }
  }

  /// The first wish counts: one launch, one cause.
  func stop(_ expiry: Expiry?) {
    let before = state.withLock { state in
      defer { if case .running = state { state = .stopping(expiry) } }
      return state
    }
    guard case .running(let folder, let waiter) = before else { return }
    if let expiry, let folder { announce(expiry, in: folder) }
    waiter?.resume()
  }

  /// Waits until the launch is asked to stop and then ends `process` by the plan. Returns when there is nothing left
  /// to send; ends early when its task is cancelled, because the process has ended.
  func enforce(on process: RunningProcess) async {
    await asked()
    guard case .stopping(let expiry) = state.withLock({ $0 }), !Task.isCancelled else { return }
    for step in StopPlan(expiry, behaviour: behaviour, margin: margin).steps {
      if let instant = step.time, (try? await time.sleep(instant)) == nil { return }
      process.signal(step.signal)
    }
  }

  /// Returns when the launch is asked to stop, or when the task is cancelled.
  private func asked() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard case .running(let folder, _) = state, !Task.isCancelled else { return false }
          state = .running(folder: folder, waiter: continuation)
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      releaseWaiter()
    }
  }

  private func releaseWaiter() {
    let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
      guard case .running(let folder, let waiter) = state else { return nil }
      state = .running(folder: folder, waiter: nil)
      return waiter
    }
    waiter?.resume()
  }

  private func announce(_ expiry: Expiry, in folder: LaunchFolder) {
    let notice = ExpiryNotice(expiry, now: time.now())
    // The signals still come if the file cannot be written.
    try? folder.announce(notice)
  }
}
