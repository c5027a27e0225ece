import Subprocess

#if canImport(System)
  import System
#else
  import SystemPackage
#endif

/// A process to start. It gets its own process group and exactly this environment. Standard output and standard error
/// share one pipe.
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
  /// If set, the process inherits these descriptors instead of `standardInput` and instead of the pipe for standard
  /// error.
  var streams: InheritedStreams?
  /// More descriptors for the command. The executable must then be `baton-exec`, or a shell that becomes it, with the
  /// option that takes them (`Fence.arguments`).
  var passed: PassedDescriptors?
  /// The limit on the processor time of the process group; `nil` for no limit.
  var limit: CPULimit?

  package init(
    executable: String, arguments: [String], environment: [String: String], directory: String,
    standardInput: String = "/dev/null", streams: InheritedStreams? = nil, passed: PassedDescriptors? = nil,
    limit: CPULimit? = nil
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.directory = directory
    self.standardInput = standardInput
    self.streams = streams
    self.passed = passed
    self.limit = limit
  }

  /// How many bytes are read after the command has ended, while a process outside its group still writes to the pipe.
  private static let drainLimit = 1 << 20

  /// Starts the process. Returns when it has ended, its process group has been killed, and its output has been read.
  ///
  /// The end of the process ends the run, not the end of the output: a process that left the group and still holds the
  /// pipe does not delay it. Cancellation of the task does not stop the process; only signals do.
  /// - Parameters:
  ///   - registry: knows the process while it runs.
  ///   - folder: the launch's folder. The registry uses it to know which launch the process belongs to.
  ///   - during: runs beside the process, and is cancelled when the process has ended. It must then return.
  ///   - output: called with each piece of output, in order. The process may have to wait while `output` runs.
  /// - Throws: `SystemError` if the process cannot be started.
  package func run(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void = { _ in },
    output: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    do {
      // A task of its own, because the Subprocess library ends the process when the task that runs it is cancelled.
      return try await Task {
        try await runUncancelled(in: registry, folder: folder, during: during, output: output)
      }.value
    } catch let error as SubprocessError {
      throw SystemError(starting: error)
    }
  }

  private func runUncancelled(
    in registry: ProcessRegistry, folder: String, during: @escaping @Sendable (RunningProcess) async -> Void,
    output: @Sendable ([UInt8]) -> Void
  ) async throws -> ProcessOutcome {
    if let streams {
      return try await run(
        in: registry, folder: folder, input: try self.input(streams.input, isOurs: false),
        error: .fileDescriptor(streams.error, closeAfterSpawningProcess: false), during: during, output: output)
    }
    // `noFollow`, because a command may have replaced its own input file by a link.
    let input = try FileDescriptor.open(standardInput, .readOnly, options: [.closeOnExec, .noFollow])
    return try await run(
      in: registry, folder: folder, input: try self.input(input, isOurs: true),
      error: .combinedWithOutput, during: during, output: output)
  }

  /// The standard input of the process: the descriptor, or a socket that has it and the passed descriptors.
  /// - Parameter isOurs: whether the descriptor is closed when the process has it.
  private func input(_ descriptor: FileDescriptor, isOurs: Bool) throws -> FileDescriptorInput {
    guard let passed else { return .fileDescriptor(descriptor, closeAfterSpawningProcess: isOurs) }
    defer { if isOurs { try? descriptor.close() } }
    let socket = try passed.sent(with: descriptor.rawValue)
    return .fileDescriptor(FileDescriptor(rawValue: socket), closeAfterSpawningProcess: true)
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
        // The use must be read before the process is reaped. Afterwards the system no longer has it.
        registry.noteUse(at: place)
        process.finish()
        group.cancelAll()
      }
      return process.signalsSent
    }
    return ProcessOutcome(end: ProcessEnd(result.terminationStatus), signalsSent: result.closureResult)
  }

  /// Applies the limit and the control group while the process already runs. The process does not wait for it.
  private func hold(_ leader: Int32, in group: ControlGroup?) async {
    _ = try? await onOwnThread {
      if let limit {
        limit.apply(to: leader, launchGroup: group)
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

  /// Reads the output until it ends. After the process has ended, at most `drainLimit` bytes are read.
  private static func read(
    _ sequence: SubprocessOutputSequence, of process: RunningProcess, _ output: @Sendable ([UInt8]) -> Void
  ) async {
    var drained = 0
    var iterator = sequence.makeAsyncIterator()
    // An error while reading ends the output, but not the command. Its exit status decides.
    while drained < drainLimit, let buffer = try? await iterator.next() {
      output(buffer.withUnsafeBytes { Array($0) })
      if process.hasExited {
        process.finish()
        drained += buffer.count
      }
    }
  }
}

/// Descriptors that a process inherits as its standard input and standard error. They stay open at least until the
/// process has been started.
package struct InheritedStreams: Sendable {
  let input: FileDescriptor
  let error: FileDescriptor
  private let files: [OpenFile]

  package init(input: OpenFile, error: OpenFile) {
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

extension SystemError {
  fileprivate init(starting error: SubprocessError) {
    let code: Code =
      switch (error.code, error.underlyingError) {
      case (_, .some(.argListTooLong)): .argumentsTooLong
      case (_, .some(.execFormatError)): .notAProgram
      case (.executableNotFound, _): .interpreterMissing
      case (.failedToChangeWorkingDirectory, _): .directoryNotEntered
      default: .failed
      }
    self.init(code, "\(error)", cause: error.underlyingError?.rawValue)
  }
}
