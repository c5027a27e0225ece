import Dispatch
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The worker's side of supervision.
package enum SupervisedProcess {
  /// Holds the supervisor's process id in the environment of the worker proper.
  static let variable = "BATON_SUPERVISOR"

  private static let control = Mutex<Int32?>(nil)

  /// True in a process that a supervisor started: it is the worker proper, also if the supervisor is dead already.
  package static let isSupervised = ProcessInfo.processInfo.environment[variable] != nil

  /// Ends this process when its supervisor is dead, at once and without a word to anybody: two workers must never
  /// come from one data folder. Call it once, first of all, if `isSupervised`; standard input is empty afterwards.
  ///
  /// A SIGKILL by the system (`PR_SET_PDEATHSIG`) would be surer, and would leave the commands running.
  /// - Parameter onDeath: kills what must not outlive the worker (`ProcessRegistry.killAll`); it may not wait.
  package static func watchSupervisor(onDeath: @escaping @Sendable () -> Void) {
    let socket = takeStandardInput()
    control.withLock { $0 = socket }
    // A thread of its own, so that it also wakes in a worker whose tasks are all stuck.
    DispatchQueue(label: "baton.supervisor").async {
      var byte: UInt8 = 0
      while true {
        let count = read(socket, &byte, 1)
        if count > 0 || (count < 0 && errno == EINTR) { continue }
        onDeath()
        _exit(1)
      }
    }
  }

  /// Leaves a line (at most a few KiB, without line breaks) with the supervisor; the last one is what it reports if
  /// this process dies. Does nothing without a supervisor.
  package static func announce(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    control.withLock { socket in
      guard let socket else { return }
      _ = bytes.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
    }
  }

  /// Moves the socket away from descriptor 0, and out of the environment, where a command could find them.
  private static func takeStandardInput() -> Int32 {
    _ = isSupervised
    unsetenv(variable)
    // Whoever writes to a dead peer shall get an error, not die.
    signal(SIGPIPE, SIG_IGN)
    let socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    dup2(null, STDIN_FILENO)
    close(null)
    return socket
  }
}
