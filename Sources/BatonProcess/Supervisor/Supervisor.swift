import BatonBase
import CBatonProcess
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a supervisor knows about a worker that died unexpectedly.
package struct WorkerDeath: Hashable, Sendable {
  package var end: ProcessEnd
  /// The worker's last announcement (`SupervisedProcess.announce`); `nil` if the worker died before it.
  package var announcement: String?
}

/// The small parent process of every worker. It starts this program again as the worker, forwards signals to it, and
/// starts it again when it dies, after it has killed the processes that the worker left and reported the death.
package enum Supervisor {
  /// Runs workers until one ends for good.
  ///
  /// SIGTERM and SIGINT are forwarded and end the supervisor too; SIGHUP is only forwarded. A worker that exits with 0
  /// or with a status of sysexits.h (64 to 78) is not started again.
  /// - Parameters:
  ///   - arguments: the worker's arguments, without the program's name. The worker inherits this process's environment
  ///     and output.
  ///   - runsTransfers: whether a second child runs this program with the same arguments as the host's transfers
  ///     (`SupervisedProcess.role`). It is started again when it dies, apart from the worker, and it is asked to stop
  ///     when the last worker has ended.
  ///   - onTransfersDeath: is told when that process died unexpectedly.
  ///   - onDeath: reports the death to the coordinator. It is called after the leftovers have been killed, and runs
  ///     during the wait before the next start. The next start cancels it, because the new worker's hello tells the
  ///     same.
  /// - Returns: the status with which this process has to exit.
  /// - Throws: if the worker cannot be started.
  package static func run(
    arguments: [String], runsTransfers: Bool = false,
    onTransfersDeath: @escaping @Sendable (WorkerDeath) async -> Void = { _ in },
    onDeath: @escaping @Sendable (WorkerDeath) async -> Void
  ) async throws -> Int32 {
    _ = baton_become_subreaper()
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    let arguments = CommandLine.arguments.prefix(1) + arguments
    let turn = ChildTurn()
    let transfers =
      runsTransfers
      ? SupervisorShell(
        executable: ownExecutable, arguments: Array(arguments), role: .transfers, cleanUp: {},
        onDeath: onTransfersDeath, turn: turn) : nil
    let worker = SupervisorShell(
      executable: ownExecutable, arguments: Array(arguments),
      cleanUp: { Leftovers.killChildren(sparing: transfers?.pid) }, onDeath: onDeath, turn: turn)
    return try await SupervisedPair(worker: worker, second: transfers).run(signals: signals.map(\.rawValue))
  }

  /// The path of the running program. If the file was replaced or removed, this still starts the same program.
  private static var ownExecutable: String {
    #if os(Linux)
      let path = (try? SystemCall.absolutePath(of: "/proc/self/exe")) ?? ""
      return SystemCall.isExecutable(path) ? path : "/proc/self/exe"
    #else
      return Bundle.main.executablePath ?? CommandLine.arguments[0]
    #endif
  }
}

/// Kills the processes that a dead worker has left. The supervisor has adopted them, and its only other child at that
/// time is the process of the transfers.
enum Leftovers {
  /// Kills and reaps all children, and the children that these leave, until there are none. Gives up after about 5 s if
  /// the system does not let one end. On a system where orphans are not adopted (macOS) it finds nothing; the next
  /// worker then looks for the processes that the dead worker recorded.
  /// - Parameter spared: the child that is no leftover, even if it has ended and is not reaped yet. The caller holds
  ///   `ChildTurn`, so that no other child starts meanwhile.
  static func killChildren(sparing spared: Int32? = nil) {
    for _ in 0..<5000 {
      let children = ProcessTable.children().filter { $0.pid != spared }
      for child in children { _ = SystemCall.signal(child.pid, SIGKILL) }
      // Each child is waited for by its number: the code that started the spared child waits for that one itself.
      for child in children { _ = waitpid(child.pid, nil, WNOHANG) }
      if children.isEmpty { return }
      usleep(1000)
    }
  }
}
