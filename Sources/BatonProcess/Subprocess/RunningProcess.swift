import BatonBase
import Synchronization

/// A process that was started as the leader of its own process group.
///
/// Signals are sent only until the process is reaped. Its process id may then belong to another process.
package final class RunningProcess: Sendable {
  package let pid: Int32
  private let state = Mutex(State())

  private struct State {
    var isReaped = false
    var sent: Set<Int32> = []
  }

  init(pid: Int32) { self.pid = pid }

  /// The signals that were sent to the group before its leader ended. They may have caused its end.
  var signalsSent: Set<Int32> { state.withLock { $0.sent } }

  /// Sends a signal to the process group. Does nothing if the leader has ended.
  package func signal(_ signal: Int32) {
    state.withLock { state in
      if state.isReaped || hasExited { return }
      state.sent.insert(signal)
      kill(-pid, signal)
    }
  }

  /// Kills the processes that the leader left in its group, and ends the sending of signals. Call it after the leader
  /// has ended and before it is reaped: until then the group's id is not used again.
  func finish() {
    state.withLock { state in
      kill(-pid, SIGKILL)
      state.isReaped = true
    }
  }

  /// Whether the leader has ended, reaped or not.
  var hasExited: Bool { hasEnded(WNOHANG) }

  /// Returns when the leader has ended. The leader still has to be reaped.
  func exit() async {
    if hasExited { return }
    _ = try? await onOwnThread { [self] in hasEnded(0) }
  }

  private func hasEnded(_ flags: Int32) -> Bool {
    while true {
      var information = siginfo_t()
      if waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT | flags) == 0 { return information.si_signo != 0 }
      if errno != EINTR { return true }
    }
  }
}

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable {
  case exited(Int32)
  case signalled(Int32)

  package var isSuccess: Bool { self == .exited(0) }
}

/// How a process ended, and which signals the worker sent to it. These signals may be the cause of the end.
package struct ProcessOutcome: Hashable, Sendable {
  package var end: ProcessEnd
  package var signalsSent: Set<Int32>
}
