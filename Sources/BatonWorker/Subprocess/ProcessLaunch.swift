import Subprocess

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// A process to start: in a process group of its own, with exactly this environment, standard output and standard
/// error in one pipe.
struct ProcessLaunch: Sendable {
  /// Absolute, or relative to `directory`.
  var executable: String
  /// The argument vector, `arguments[0]` included.
  var arguments: [String]
  var environment: [String: String]
  var directory: String
  /// A regular file or `/dev/null`: never a pipe, so that a command that does not read it blocks and breaks nothing.
  var standardInput = "/dev/null"
  /// In place of `standardInput` and of the output for standard error.
  var streams: InheritedStreams?
  /// What its process group may use of the host's processors; nil means whatever they have.
  var limit: CPULimit?

  /// Bytes that are still read of what a process outside the group goes on writing after the command has ended.
  private static let drainLimit = 1 << 20

  /// Starts the process and returns when it has ended, its group is killed and its output is read as far as it got.
  ///
  /// The end of the process ends it, not the end of its output: a process that escaped with the pipe in its hands
  /// holds nothing up. Cancellation does not stop it: signals do.
  /// - Parameters:
  ///   - folder: the launch's folder, by which the registry knows whose process it is.
  ///   - during: runs beside the process and is cancelled when that has ended; what it waits for must end then.
  ///   - output: called in order; the process waits while it runs.
  /// - Throws: `SubprocessError` if the process cannot be started.
  func run(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void = { _ in },
    output: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    // A task of its own, because the library ends the process when the task that runs it is cancelled.
    try await Task { try await runUncancelled(in: registry, folder: folder, during: during, output: output) }.value
  }

  private func runUncancelled(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void,
    output: @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    if let streams {
      return try await run(
        in: registry, folder: folder, input: .fileDescriptor(streams.input, closeAfterSpawningProcess: false),
        error: .fileDescriptor(streams.error, closeAfterSpawningProcess: false), during: during, output: output)
    }
    // A command may have put a link in the place of its file.
    let input = try FileDescriptor.open(standardInput, .readOnly, options: [.closeOnExec, .noFollow])
    return try await run(
      in: registry, folder: folder, input: .fileDescriptor(input, closeAfterSpawningProcess: true),
      error: .combinedWithOutput, during: during, output: output)
  }

  private func run(
    in registry: ProcessRegistry, folder: String, input: FileDescriptorInput, error: some ErrorOutputProtocol,
    during: @escaping @Sendable (RunningProcess) async -> Void, output: @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    let place = registry.reserve(folder: folder)
    defer { registry.remove(place) }
    let result = try await Subprocess.run(configuration, input: input, output: .sequence, error: error) { execution in
      let process = registry.register(pid: execution.processIdentifier.value, at: place)
      let held = registry.controlGroup(ofFolder: folder)
      await withTaskGroup(of: Void.self) { group in
        if limit != nil || held != nil { group.addTask { await hold(process.pid, in: held) } }
        group.addTask { await during(process) }
        await Self.read(execution.standardOutput, of: process, output)
        await process.exit()
        // Once it is reaped nobody knows what it used.
        registry.noteUse(at: place)
        process.finish()
        group.cancelAll()
      }
      return process.signalsSent
    }
    return ProcessOutcome(end: ProcessEnd(result.terminationStatus), signalsSent: result.closureResult)
  }

  /// Beside the process: it waits for nothing of this.
  private func hold(_ leader: Int32, in group: ControlGroup?) async {
    _ = try? await onOwnThread {
      if let limit {
        limit.apply(to: leader, launch: group)
      } else {
        ControlGroup.hold(leader, in: group, niceness: nil)
      }
    }
  }

  private var configuration: Configuration {
    var options = PlatformOptions()
    options.processGroupID = 0
    return Configuration(
      executable: .path(FilePath(executable)),
      arguments: Arguments(executablePathOverride: arguments.first, remainingValues: Array(arguments.dropFirst())),
      environment: .custom(Dictionary(uniqueKeysWithValues: environment.map { (.init(rawValue: $0)!, $1) })),
      workingDirectory: FilePath(directory), platformOptions: options)
  }

  private static func read(
    _ sequence: SubprocessOutputSequence, of process: RunningProcess, _ output: @Sendable ([UInt8]) -> Void
  ) async {
    var drained = 0
    var iterator = sequence.makeAsyncIterator()
    // A read that fails ends the output, not the command: its exit status is what counts.
    while drained < drainLimit, let buffer = try? await iterator.next() {
      output(buffer.withUnsafeBytes { Array($0) })
      if process.hasExited {
        process.finish()
        drained += buffer.count
      }
    }
  }
}

/// Descriptors that a process inherits as its standard input and its standard error. They must stay open until it has
/// been started.
struct InheritedStreams: Sendable {
  let input: FileDescriptor
  let error: FileDescriptor
  private let files: [OpenFile]

  init(input: OpenFile, error: OpenFile) {
    self.input = FileDescriptor(rawValue: input.descriptor)
    self.error = FileDescriptor(rawValue: error.descriptor)
    files = [input, error]
  }
}

extension ProcessEnd {
  init(_ status: TerminationStatus) {
    switch status {
    case .exited(let code): self = .exited(code)
    case .signaled(let signal): self = .signalled(signal)
    }
  }
}
