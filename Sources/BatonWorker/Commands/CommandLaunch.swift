import BatonBase
import BatonHandler
import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One launch of a command: its folder, its environment, and the code that runs one batch.
struct CommandLaunch: Sendable {
  let runner: CommandRunner
  let runtime: any CommandRuntime
  let stop: CommandStop
  let folder: LaunchFolder
  let environment: CommandEnvironment
  let executable: CommandExecutable
  /// What the command is fenced in with; `nil` if nothing is limited.
  let fence: Fence?
  let secrets: CommandSecrets
  /// Where the command submits; `nil` if it may submit nothing.
  let submissions: SubmissionSocket?
  /// The definition's command as the program gets it: with the value of the wildcard filled in, and `${` in place of
  /// each `$${`.
  let command: [String]

  var work: Work { runner.work }
  var directory: String { executable.directory }

  init(
    _ runner: CommandRunner, runtime: any CommandRuntime, stop: CommandStop, folder: LaunchFolder,
    user: CommandUser?, secrets: CommandSecrets
  ) throws {
    self.runner = runner
    self.runtime = runtime
    self.stop = stop
    self.secrets = secrets
    let work = runner.work
    var assignment = runner.assignment
    assignment.progress = runtime.progress
    self.folder = folder
    try folder.write(assignment)
    let hasTransfers = !assignment.transfers.isEmpty
    if hasTransfers {
      try folder.write(
        assignment.transfers, links: runner.confinement.level != nil, below: runner.folders.data)
    }
    if !assignment.inputs.isEmpty { try folder.writeInputs(InputNotice.json(assignment.inputs)) }
    let maySubmit = runner.definition.maySubmit != nil
    submissions = maySubmit ? try SubmissionSocket(in: folder, for: user) : nil
    environment = CommandEnvironment(
      worker: ProcessInfo.processInfo.environment, work: work, assignment: assignment, gpus: runner.gpus,
      host: runner.host, folder: folder, user: user, shards: runner.definition.spread?.shards,
      hasTransfers: hasTransfers, maySubmit: maySubmit)
    command = try runner.command()
    executable = try CommandExecutable(
      command.first ?? "", directory: Self.absolute(work.directory ?? folder.empty),
      isOwnFolder: work.directory == nil, searchPath: environment.path, host: runner.host)
    fence = try runner.confinement.fence(
      around: executable, folder: folder.path, hasSecrets: !secrets.isEmpty, as: user,
      needsNetwork: runner.definition.requirements.network != nil)
  }

  private static func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  /// Does the rest of the request's work, and takes the submissions of the command meanwhile.
  func work() async throws {
    guard let submissions else { return try await run() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await submissions.serve { try await submit($0) } }
      defer { group.cancelAll() }
      try await run()
    }
  }

  private func submit(_ request: SubmissionRequest) async throws -> AcceptedSubmission {
    try await runtime.submit(request.submission(batch: work.items == nil ? nil : runtime.progress.batches))
  }

  private func run() async throws {
    if let items = work.items {
      try await runBatches(of: items)
    } else {
      try await runWithCursor()
    }
  }

  /// Runs the command once for the next batch. Returns if the batch has been done.
  /// - Parameter during: runs beside the process.
  /// - Throws: `CommandExpired` if the launch was stopped, and `CommandError` if the command failed or could not be
  ///   started.
  func execute(
    _ invocation: Invocation, during: @escaping @Sendable (RunningProcess) async -> Void = { _ in }
  ) async throws {
    if stop.isStopped { throw CommandExpired(isGraceful: true) }
    try runner.confinement.demandPlaces(on: runner.host)
    let tail = OutputTail()
    let outcome = try await start(invocation, during: during, tail: tail)
    try CommandVerdict(outcome, wasStopped: stop.isStopped).check {
      "'\(command[0])' in \(directory) on \(runner.host)" + runner.place(of: runtime.progress.batches)
    } output: {
      work.failureOutput == FailureOutput.none ? nil : tail.lines
    }
  }

  private func start(
    _ invocation: Invocation, during: @escaping @Sendable (RunningProcess) async -> Void, tail: OutputTail
  ) async throws -> ProcessOutcome {
    var extra = invocation.environment.merging(secrets.environment) { $1 }
    if let traceparent = runtime.traceparent { extra[CommandEnvironment.traceVariable] = traceparent }
    let process = ProcessLaunch(
      executable: executable.path, arguments: invocation.arguments,
      environment: environment.variables(batch: runtime.progress.batches, adding: extra),
      directory: directory, standardInput: invocation.standardInput,
      passed: invocation.passed + (try secrets.passed()), fence: fence, limit: runner.limit)
    let output = RedactedOutput(secrets.redaction) { bytes in
      tail.append(bytes)
      runtime.output(bytes)
    }
    defer { output.finish() }
    do {
      return try await process.run(in: runner.processes, folder: folder.path) { process in
        async let enforcement: Void = stop.enforce(on: process)
        await during(process)
        await enforcement
      } output: { bytes in
        output.append(bytes)
      }
    } catch {
      throw executable.explain(error)
    }
  }
}

/// The input of one run of the command.
struct Invocation: Sendable {
  /// The arguments of the command, with its `arguments[0]`.
  var arguments: [String]
  var environment: [String: String] = [:]
  var standardInput = "/dev/null"
  /// More descriptors for the command, beside its secrets.
  var passed: [PassedDescriptor] = []
}

/// Texts that need the definition and the assignment.
extension CommandRunner {
  /// The words of the command with placeholders filled in.
  /// - Throws: `CommandError` if a word cannot be read. The store accepts only definitions that were checked, so the
  ///   worker does not get one of these.
  fileprivate func command() throws(CommandError) -> [String] {
    let wildcard = definition.pattern.wildcardValue(in: assignment.identifier) ?? ""
    do throws(CommandText.Mistake) {
      return try work.command.map { word throws(CommandText.Mistake) in
        try CommandText(word).expanded(wildcard: wildcard)
      }
    } catch {
      throw CommandError(
        .badCommand, "a word in the command of \(definition.pattern) cannot be used: \(error)\(place(of: 0))")
    }
  }

  /// The batch's place for messages, such as " (batch 3 of com.example.export, request 12)".
  func place(of batch: Int) -> String {
    " (batch \(batch) of \(assignment.identifier), request \(assignment.requestNumber))"
  }
}
