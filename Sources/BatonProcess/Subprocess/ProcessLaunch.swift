import BatonBase
import CBatonProcess

/// A process to start. It gets its own process group, exactly this environment, and the default signals. Standard
/// output and standard error share one pipe.
package struct ProcessLaunch: Sendable {
  /// The program's path, absolute or relative to `directory`.
  var executable: String
  /// The arguments, including `arguments[0]`.
  var arguments: [String]
  var environment: [String: String]
  var directory: String
  /// A regular file or `/dev/null`. It is never a pipe, so a command that does not read its input neither blocks the
  /// worker nor breaks a pipe.
  var standardInput: String
  /// More descriptors for the process.
  var passed: [PassedDescriptor]
  /// What the process is fenced in with; `nil` if nothing is limited.
  var fence: Fence?
  /// The limit on the processor time of the process group; `nil` for no limit.
  var limit: CPULimit?

  package init(
    executable: String, arguments: [String], environment: [String: String], directory: String,
    standardInput: String = "/dev/null", passed: [PassedDescriptor] = [], fence: Fence? = nil, limit: CPULimit? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.directory = directory
    self.standardInput = standardInput
    self.passed = passed
    self.fence = fence
    self.limit = limit
  }

  /// Starts the process. Returns when it has ended, its process group has been killed, and its output has been read.
  ///
  /// The end of the process ends the run, not the end of the output: a process that left the group and still holds the
  /// pipe does not delay it. Cancellation of the task does not stop the process; only signals do.
  /// - Parameters:
  ///   - registry: knows the process while it runs.
  ///   - folder: the launch's folder. The registry uses it to know which launch the process belongs to.
  ///   - during: runs beside the process, and is cancelled when the process has ended. It must then return.
  ///   - output: called with each piece of output, in order. The process may have to wait while `output` runs. It must
  ///     not wait for anything itself.
  /// - Throws: `SystemError` if the process cannot be started.
  package func run(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void = { _ in },
    output: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    // A task of its own, because `during` must not be cancelled when the task that runs the process is.
    try await Task { try await runUncancelled(in: registry, folder: folder, during: during, output: output) }.value
  }

  private func runUncancelled(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void,
    output: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    let (pipe, report) = (try CommandPipe(own: .reading), try CommandPipe(own: .reading))
    let (process, hold) = try registry.start(self, folder: folder, output: pipe.writing, report: report.writing)
    let reader = OutputReader(pipe, output)
    pipe.closeTheirs()
    let watch = DescriptorWatch(pipe.reading.descriptor) { reader.read() }
    let end = await withTaskGroup(of: Void.self) { group in
      if let hold { group.addTask { _ = try? await onOwnThread(hold) } }
      group.addTask { await during(process) }
      await process.exit()
      watch.end()
      // What the leader left in its group may still write, and must not be waited for.
      process.finish()
      reader.drain()
      group.cancelAll()
      await group.waitForAll()
      return registry.end(process)
    }
    if let failure = StartReport(report.read() ?? []).failure { throw failure }
    return ProcessOutcome(end: end, signalsSent: process.signalsSent)
  }
}

/// A descriptor of this process that another process gets under a number. It stays open at least until that process has
/// been started.
package struct PassedDescriptor: Sendable {
  /// From 0 to 1024. The numbers 0 to 2 are the standard streams.
  let number: Int32
  let file: OpenFile

  /// The number of a command's first secret. The numbers below it are those of the standard streams and of a cursor's
  /// pipes.
  package static let firstSecret: Int32 = 5

  package init(_ file: OpenFile, as number: Int32) { (self.file, self.number) = (file, number) }
}

/// A pipe with one end for this process, which never blocks in it, and the other end for a command, which may block:
/// few programs can handle a pipe that returns EAGAIN.
package final class CommandPipe: Sendable {
  package enum End: Sendable { case reading, writing }

  package let reading: OpenFile
  package let writing: OpenFile
  private let own: End

  /// - Parameter own: the end that this process uses.
  /// - Throws: `SystemError` if the system gives no pipe.
  package init(own: End) throws(SystemError) {
    var ends: (Int32, Int32) = (0, 0)
    let code = baton_pipe(&ends.0, &ends.1, own == .reading ? 1 : 0)
    guard code == 0 else {
      throw SystemError(.failed, "cannot make a pipe: \(SystemCall.explanation(of: code))", cause: code)
    }
    (reading, writing) = (OpenFile(ends.0), OpenFile(ends.1))
    self.own = own
  }

  /// Closes the end of the command, so that the pipe ends when all commands have closed theirs.
  func closeTheirs() { (own == .reading ? writing : reading).close() }

  /// The bytes that wait in the pipe, at most 64 KiB; empty at its end, and `nil` if there are none now.
  package func read() -> [UInt8]? { SystemCall.read(reading.descriptor, limit: 64 << 10) }
}

/// Passes on what a command writes.
private struct OutputReader: Sendable {
  let pipe: CommandPipe
  let output: @Sendable ([UInt8]) -> Void

  init(_ pipe: CommandPipe, _ output: @escaping @Sendable ([UInt8]) -> Void) {
    (self.pipe, self.output) = (pipe, output)
  }

  /// How many bytes are read after the command has ended, while a process outside its group still writes to the pipe.
  private static let drainLimit = 1 << 20

  /// Reads once. Returns whether there may be more. An error ends the output, but not the command, whose exit status
  /// decides.
  func read() -> Bool {
    guard let piece = pipe.read() else { return errno == EAGAIN }
    if !piece.isEmpty { output(piece) }
    return !piece.isEmpty
  }

  /// Reads what waits in the pipe after the command has ended.
  func drain() {
    var drained = 0
    while drained < Self.drainLimit, let piece = pipe.read(), !piece.isEmpty {
      output(piece)
      drained += piece.count
    }
  }
}
