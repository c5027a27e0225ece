import BatonBase
import CBatonProcess
import Synchronization

/// A process that was started as the leader of its own process group.
///
/// Signals are sent only until the process is reaped. Its process id may then belong to another process.
package final class RunningProcess: Sendable {
  package let pid: Int32
  /// Can be read when the process has ended; `nil` where the system has no such descriptors.
  private let descriptor: OpenFile?
  private let state = Mutex(State())

  private struct State {
    var isReaped = false
    var sent: Set<Int32> = []
  }

  /// - Parameter pid: a child of this process that has not been reaped.
  init(pid: Int32) {
    self.pid = pid
    let descriptor = baton_process_descriptor(pid)
    self.descriptor = descriptor < 0 ? nil : OpenFile(descriptor)
  }

  /// The signals that were sent to the group before its leader ended. They may have caused its end.
  var signalsSent: Set<Int32> { state.withLock { $0.sent } }

  /// Sends a signal to the process group, and to the leader also if it has gone to another group. Does nothing if the
  /// leader has ended.
  package func signal(_ signal: Int32) {
    state.withLock { state in
      if state.isReaped || hasExited { return }
      state.sent.insert(signal)
      kill(-pid, signal)
      // Killing is repeated for the leader, because it may change its group at any moment.
      if signal == SIGKILL || getpgid(pid) != pid { kill(pid, signal) }
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

  /// Returns when the leader has ended, also in a cancelled task. The leader still has to be reaped.
  func exit() async {
    guard let descriptor else {
      if hasExited { return }
      _ = try? await onOwnThread { [self] in hasEnded(0) }
      return
    }
    let ended = FirstAnswer<Void>()
    let watch = DescriptorWatch(descriptor.descriptor) {
      ended.give(())
      return false
    }
    await ended.value
    watch.end()
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

  /// - Parameter status: as waitpid(2) gives it.
  init(status: Int32) {
    let signal = status & 0x7F
    self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
  }

  package var isSuccess: Bool { self == .exited(0) }
}

/// How a process ended, and which signals the worker sent to it. These signals may be the cause of the end.
package struct ProcessOutcome: Hashable, Sendable {
  package var end: ProcessEnd
  package var signalsSent: Set<Int32>
}
