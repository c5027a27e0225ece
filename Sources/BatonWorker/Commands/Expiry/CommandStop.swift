import BatonHandler
import BatonModel
import BatonProcess
import Synchronization

/// The order to stop a launch's command. It is given once, when the launch is cancelled, and applies to the process
/// that runs at that time.
final class CommandStop: Sendable {
  private let behaviour: ExpiryBehaviour
  private let margin: Duration
  private let time: CommandTime
  private let state = Mutex(State.running(folder: nil, waiter: nil))

  private enum State {
    /// The launch has not been asked to stop. `waiter` is the running batch, which waits for the order.
    case running(folder: LaunchFolder?, waiter: CheckedContinuation<Void, Never>?)
    /// The launch has been asked to stop. The expiry is `nil` for a withdrawal.
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

  /// Sets the folder for the expiry file, which tells the command about the order. If the launch was already asked to
  /// stop, the file is written now.
  func announces(in folder: LaunchFolder) {
    let expiry: Expiry? = state.withLock { state in
      if case .stopping(let expiry) = state { return expiry }
      state = .running(folder: folder, waiter: nil)
      return nil
    }
    if let expiry { announce(expiry, in: folder) }
  }

  /// Asks the launch to stop. Only the first order counts, so that a launch has one cause.
  /// - Parameter expiry: `nil` for a withdrawal.
  func stop(_ expiry: Expiry?) {
    let before = state.withLock { state in
      defer { if case .running = state { state = .stopping(expiry) } }
      return state
    }
    guard case .running(let folder, let waiter) = before else { return }
    if let expiry, let folder { announce(expiry, in: folder) }
    waiter?.resume()
  }

  /// Waits until the launch is asked to stop, and then ends `process` by the steps of a `StopPlan`. Returns when all
  /// signals have been sent, or when the task is cancelled because the process has ended.
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
    // The signals are sent even if the file cannot be written.
    try? folder.announce(notice)
  }
}
