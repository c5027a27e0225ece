import BatonHandler
package import BatonModel

/// Runs a definition's `work` for one launch: one process per batch, each committed before the next begins.
///
/// Call `run` in a task that is cancelled when the launch expires, with `runtime.expiry` set before. A cancellation
/// without an expiry is a withdrawal: what runs is killed at once. `ProcessRegistry.kill(_:)` ends a closing window
/// early, for a withdrawal that comes after an expiry.
package struct CommandRunner: Sendable {
  let definition: Definition
  let work: Work
  let assignment: Assignment
  /// Ids of the GPUs that the launch holds.
  let gpus: [String]
  let folders: WorkerFolders
  let host: HostName
  let processes: ProcessRegistry
  let margin: Duration
  let time: CommandTime
  /// Nil for a definition that requires external power: then nothing is held back (contract, row 18).
  let limit: CPULimit?

  /// - Parameters:
  ///   - definition: must have `work`: a worker gets no other definition for a command.
  ///   - terminationMargin: how long before the deadline SIGTERM comes; nil means the work's own
  ///     `terminateBefore`, else what `Definition.terminationMargin` says.
  ///   - time: the clock that deadlines are waited on.
  ///   - limit: of the host, for all commands that may be held back.
  package init(
    definition: Definition, assignment: Assignment, gpus: [String] = [], folders: WorkerFolders, host: HostName,
    processes: ProcessRegistry,
    terminationMargin: Duration? = nil, time: CommandTime = .continuous, limit: CPULimit? = nil
  ) {
    guard let work = definition.work else { preconditionFailure("\(definition.pattern) has no command to run") }
    self.definition = definition
    self.work = work
    self.assignment = assignment
    self.gpus = gpus
    self.folders = folders
    self.host = host
    self.processes = processes
    margin = terminationMargin ?? definition.terminationMargin
    self.time = time
    self.limit = definition.requirements.externalPower ? nil : limit
  }

  /// Returns when the work is done and its last commit, which `reachesEnd`, is durable.
  ///
  /// When it returns or throws, no process of the launch is left and its folder is gone.
  /// - Throws: `CommandExpired` when it stopped because of expiry or withdrawal, `CommandError` when it failed, or
  ///   what `runtime` throws.
  package func run(_ runtime: any CommandRuntime) async throws {
    let stop = CommandStop(behaviour: work.onExpiry, margin: margin, time: time)
    try await withTaskCancellationHandler {
      try await launch(runtime, stop: stop)
    } onCancel: {
      stop.stop(runtime.expiry)
    }
  }

  private func launch(_ runtime: any CommandRuntime, stop: CommandStop) async throws {
    let folder = try LaunchFolder(folders.folder(of: assignment.launch))
    processes.begin(assignment.launch, limit: limit)
    stop.announces(in: folder)
    let result: Result<Void, any Error>
    do {
      result = .success(try await CommandLaunch(self, runtime: runtime, stop: stop, folder: folder).work())
    } catch {
      result = .failure(stop.isStopped && error is CancellationError ? CommandExpired(isGraceful: true) : error)
    }
    await processes.sweep(after: assignment.launch)
    await folder.remove()
    try result.get()
  }
}
