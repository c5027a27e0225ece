import BatonBase
import Dispatch
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The worker's side of the connection to its supervisor.
package enum SupervisedProcess {
  /// The environment variable with the supervisor's process id.
  static let variable = "BATON_SUPERVISOR"
  /// The environment variable that says which of the supervisor's children this process is.
  static let roleVariable = "BATON_SUPERVISED_ROLE"

  package enum Role: String, Sendable { case worker, transfers }

  /// The status with which a child ends that is to be started again, unless its supervisor ends too. An end with 0
  /// would be for good.
  package static let untilNextStart: Int32 = 1

  private static let control = Mutex<Int32?>(nil)

  /// Whether a supervisor started this process. It is then the worker itself, even if the supervisor has died since.
  package static let isSupervised = ProcessInfo.processInfo.environment[variable] != nil

  /// Which child of its supervisor this process is.
  package static let role =
    ProcessInfo.processInfo.environment[roleVariable].flatMap { Role(rawValue: $0) } ?? .worker

  /// Ends this process at once when its supervisor dies, without telling any other process. Two workers must never use
  /// one data folder, and a new supervisor would start a second worker. If `isSupervised` is true, call this once,
  /// before anything else. Standard input is empty afterwards.
  ///
  /// A SIGKILL by the system (`PR_SET_PDEATHSIG`) would be more reliable, but it would leave the worker's commands
  /// running.
  /// - Parameter onDeath: kills the processes that must not outlive the worker (`ProcessRegistry.killAll`). It must not
  ///   wait.
  package static func watchSupervisor(onDeath: @escaping @Sendable () -> Void) {
    let socket = takeStandardInput()
    control.withLock { $0 = socket }
    // A thread of its own works even if all threads of Swift's task pool are blocked.
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

  /// Gives the supervisor a line (at most a few KiB, without line breaks). If this process dies, the supervisor reports
  /// the last line. Without a supervisor this does nothing.
  package static func announce(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    control.withLock { socket in
      guard let socket else { return }
      _ = bytes.withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
    }
  }

  /// Moves the socket away from descriptor 0 and removes the variable from the environment, so that commands cannot
  /// find them.
  private static func takeStandardInput() -> Int32 {
    _ = (isSupervised, role)
    unsetenv(variable)
    unsetenv(roleVariable)
    // A write to a dead supervisor must return an error, not end this process.
    signal(SIGPIPE, SIG_IGN)
    let socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    dup2(null, STDIN_FILENO)
    close(null)
    return socket
  }
}
