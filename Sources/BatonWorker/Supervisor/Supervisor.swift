import CBatonProcess
import UnixSignals

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a supervisor knows of a worker that died unasked.
package struct WorkerDeath: Hashable, Sendable {
  package var end: ProcessEnd
  /// What the worker announced last (`SupervisedProcess.announce`); nil if it died before.
  package var announcement: String?
}

/// The small parent that every worker runs under. It starts this program again as the worker proper, passes signals
/// on, kills what a dead worker left, says that it died, and starts it anew.
package enum Supervisor {
  /// Returns the status that this process has to exit with.
  ///
  /// SIGTERM and SIGINT are passed on and end it all, SIGHUP is only passed on. A worker that exits with 0, or with a
  /// status of sysexits.h (64 to 78), is not started anew.
  /// - Parameters:
  ///   - arguments: of the worker, without the program's name; its environment and its output are this process's.
  ///   - onDeath: tells the coordinator. It is called when the leftovers are dead, runs beside the wait before the
  ///     next start, and is cancelled by that start: the new worker's hello says the same.
  /// - Throws: if the worker cannot be started at all.
  package static func run(
    arguments: [String], onDeath: @escaping @Sendable (WorkerDeath) async -> Void
  ) async throws -> Int32 {
    _ = baton_become_subreaper()
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    let shell = SupervisorShell(
      executable: ownExecutable, arguments: CommandLine.arguments.prefix(1) + arguments,
      cleanUp: { Leftovers.killChildren() }, onDeath: onDeath)
    return try await shell.run(signals: signals.map(\.rawValue))
  }

  /// The program that runs now, also if its file was replaced meanwhile.
  private static var ownExecutable: String {
    #if os(Linux)
      let path = (try? SystemCall.absolutePath(of: "/proc/self/exe")) ?? ""
      return SystemCall.isExecutable(path) ? path : "/proc/self/exe"
    #else
      return Bundle.main.executablePath ?? CommandLine.arguments[0]
    #endif
  }
}
