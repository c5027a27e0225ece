import BatonHandler
package import BatonModel
package import BatonProcess

/// Runs a definition's `work` for one launch: one process per batch, and a commit after each batch before the next one
/// begins.
///
/// Call `run` in a task that is cancelled when the launch expires, and set `runtime.expiry` before the cancellation. A
/// cancellation without an expiry is a withdrawal: the running command is killed at once. If a withdrawal follows an
/// expiry, call `ProcessRegistry.kill(_:)` to end the closing window early.
package struct CommandRunner: Sendable {
  let definition: Definition
  let work: Work
  let assignment: Assignment
  /// The ids of the GPUs that the launch holds.
  let gpus: [String]
  let folders: WorkerFolders
  let host: HostName
  let processes: ProcessRegistry
  /// How long before the deadline SIGTERM is sent.
  let margin: Duration
  let time: CommandTime
  /// The limit on processor time; `nil` if there is none, or if the definition requires external power, because its
  /// commands are not limited (contract, row 18).
  let limit: CPULimit?
  let confinement: CommandConfinement
  private let spares: SpareFolders?

  /// - Parameters:
  ///   - definition: must have `work`.
  ///   - gpus: the ids of the GPUs that the launch holds.
  ///   - terminationMargin: how long before the deadline SIGTERM is sent. If it is `nil`,
  ///     `Definition.terminationMargin` decides, which is the work's `terminateBefore` if it is set.
  ///   - time: the clock for deadlines.
  ///   - limit: the host's limit on the processor time of commands.
  ///   - confinement: what the host's owner permits, and the sandbox.
  ///   - spares: keeps the folders of launches; `nil` to make and remove one for each.
  package init(
    definition: Definition, assignment: Assignment, gpus: [String] = [], folders: WorkerFolders, host: HostName,
    processes: ProcessRegistry,
    terminationMargin: Duration? = nil, time: CommandTime = .continuous, limit: CPULimit? = nil,
    confinement: CommandConfinement = .none, spares: SpareFolders? = nil
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
    self.confinement = confinement
    self.spares = spares
  }

  /// Runs the rest of the work. Returns when the work is done and its last commit, which has `reachesEnd`, is durable.
  ///
  /// When this method returns or throws, the launch has no processes left and its folder has been removed.
  /// - Throws: `CommandExpired` if the launch expired or was withdrawn, `CommandError` if the command failed, and the
  ///   errors of `runtime`.
  package func run(_ runtime: any CommandRuntime) async throws {
    let stop = CommandStop(behaviour: work.onExpiry, margin: margin, time: time)
    try await withTaskCancellationHandler {
      try await launch(runtime, stop: stop)
    } onCancel: {
      stop.stop(runtime.expiry)
    }
  }

  private func launch(_ runtime: any CommandRuntime, stop: CommandStop) async throws {
    let user = try user()
    let folder = try LaunchFolder(folders.folder(of: assignment.launch), for: user, spares: spares)
    processes.begin(assignment.launch, limit: limit)
    stop.announces(in: folder)
    let result: Result<Void, any Error>
    do {
      result = .success(try await work(runtime, stop: stop, folder: folder, user))
    } catch {
      result = .failure(stop.isStopped && error is CancellationError ? CommandExpired(isGraceful: true) : error)
    }
    await processes.sweep(after: assignment.launch)
    await folder.remove()
    try result.get()
  }
}

extension CommandRunner {
  /// Reads the secrets and does the work. No error contains the value of a secret.
  private func work(
    _ runtime: any CommandRuntime, stop: CommandStop, folder: LaunchFolder, _ user: CommandUser?
  ) async throws {
    let secrets = try CommandSecrets(of: work, in: confinement.secrets, on: host)
    do {
      try await CommandLaunch(
        self, runtime: runtime, stop: stop, folder: folder, user: user, secrets: secrets
      ).work()
    } catch {
      throw secrets.redaction.redacted(error)
    }
  }

  /// The user as which the command runs; `nil` means the worker's user.
  private func user() throws -> CommandUser? {
    guard let name = work.user else { return nil }
    guard let user = try CommandUser.find(name) else {
      throw CommandError(
        .host, "there is no user '\(name)' on \(host): make it there, or change 'user' in the definition")
    }
    // A second name of root would be a way around `allow.root`.
    guard user.id != 0 else { throw CommandError.notPermitted(.root, on: host) }
    return user
  }
}

/// The clock for the deadlines of commands. Tests replace it.
package struct CommandTime: Sendable {
  /// Returns at the given instant, or throws `CancellationError` if the task is cancelled before.
  package var sleep: @Sendable (ContinuousClock.Instant) async throws -> Void
  package var now: @Sendable () -> ContinuousClock.Instant

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    sleep: @escaping @Sendable (ContinuousClock.Instant) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  package static let continuous = CommandTime(
    now: { ContinuousClock.now }, sleep: { try await ContinuousClock().sleep(until: $0) })
}
