import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A command that was started, as the leader of its own process group.
///
/// Signals reach it only until it is reaped: afterwards its number may be another process's, and nothing is sent.
package final class RunningProcess: Sendable {
  package let pid: Int32
  private let state = Mutex(State())

  private struct State {
    var isReaped = false
    var sent: Set<Int32> = []
  }

  init(pid: Int32) { self.pid = pid }

  /// Signals that were sent to the group while its leader lived, in which case they may have caused its end.
  var signalsSent: Set<Int32> { state.withLock { $0.sent } }

  /// Sends a signal to the process group; does nothing once its leader has ended.
  func signal(_ signal: Int32) {
    state.withLock { state in
      if state.isReaped || hasExited { return }
      state.sent.insert(signal)
      kill(-pid, signal)
    }
  }

  /// Kills what the leader left in its group, for good. The leader must have ended and must not be reaped before this
  /// returns: it keeps the group's number from being used again.
  func finish() {
    state.withLock { state in
      kill(-pid, SIGKILL)
      state.isReaped = true
    }
  }

  /// True from when the leader has ended, reaped or not.
  var hasExited: Bool { hasEnded(WNOHANG) }

  /// Returns when the leader has ended; it is still to be reaped.
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
