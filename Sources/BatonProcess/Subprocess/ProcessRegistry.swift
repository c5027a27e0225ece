import BatonBase
package import BatonModel
import CBatonProcess
import Synchronization

/// Starts the commands of this worker, and knows each one until it has ended. If this worker is killed, the next one
/// finds its commands by their environment and their control groups (`killLeftovers`). On macOS they go on.
package final class ProcessRegistry: Sendable {
  let folders: WorkerFolders
  let adoptsOrphans: Bool
  /// `nil` if the worker cannot make control groups.
  package let groups: LaunchGroups?
  /// Starts the commands; `nil` if this system has no `baton-exec`.
  private let starter: Starter?
  let state = Mutex(State())

  struct State {
    /// The commands that run, by their process ids.
    var running: [Int32: Command] = [:]
    /// The process groups of reaped commands that still had other members when the command was reaped.
    var endedGroups: Set<Int32> = []
    var removals = 0
    /// What the commands of each launch have used, by the launch's folder.
    var uses: [String: LaunchUse] = [:]
    /// The control groups of running launches, by the launch's folder.
    var groups: [String: ControlGroup] = [:]
  }

  /// A command that runs.
  struct Command {
    var folder: String
    var process: RunningProcess
  }

  /// - Parameters:
  ///   - folders: the worker's folders.
  ///   - adoptsOrphans: whether this process becomes the parent of the processes that its commands leave behind
  ///     (Linux). It then finds a daemon that has left its session and process group when the launch ends. A program
  ///     that starts children of its own may not want this. Without it, such daemons go on, unless there are control
  ///     groups.
  ///   - groups: makes a control group for each launch; `nil` if the worker cannot make control groups.
  ///   - helper: the path of `baton-exec`; `nil` if there is none.
  package init(
    folders: WorkerFolders, adoptsOrphans: Bool = true, groups: LaunchGroups? = nil, helper: String? = nil
  ) {
    starter = helper.map { Starter(helper: $0) }
    self.folders = folders
    self.groups = groups
    self.adoptsOrphans = adoptsOrphans
    if adoptsOrphans { _ = baton_become_subreaper() }
  }

  /// Kills the commands of one launch at once, for example when the launch is withdrawn.
  package func kill(_ launch: LaunchKey) {
    let folder = folders.folder(of: launch)
    for process in running(where: { $0 == folder }) { process.signal(SIGKILL) }
  }

  /// Kills all commands and the processes that they have left behind. Returns within about a second. It is for a worker
  /// that must end its process now, and blocks the calling thread.
  package func killAll() {
    for process in running(where: { _ in true }) { process.signal(SIGKILL) }
    for group in state.withLock({ Array($0.groups.values) }) { group.kill() }
    killMarked()
    _ = killOrphans(sparesRunning: false)
  }

  func running(where includes: (String) -> Bool) -> [RunningProcess] {
    state.withLock { state in state.running.values.filter { includes($0.folder) }.map(\.process) }
  }

  /// Notes that a launch begins: from now on, processes with its marker may run.
  /// - Parameter limit: the limit that applies to the launch's commands, or `nil`.
  package func begin(_ launch: LaunchKey, limit: CPULimit? = nil) {
    let folder = folders.folder(of: launch)
    ChildTable.begin(folder)
    let group = groups?.make("\(launch.request)-\(launch.number)", inside: limit?.group)
    state.withLock { ($0.uses[folder], $0.groups[folder]) = (LaunchUse(), group) }
  }

  /// The control group of the launch with this folder; `nil` if it has none.
  func controlGroup(ofFolder folder: String) -> ControlGroup? { state.withLock { $0.groups[folder] } }
}

/// The start and the end of single commands.
extension ProcessRegistry {
  /// Starts a command.
  /// - Parameters:
  ///   - output: what becomes standard output and standard error of the process.
  ///   - report: a pipe for a `StartReport`.
  /// - Returns: the process, and what has to be done while it runs: where there is no `baton-exec`, the limit and the
  ///   control group are applied to a process that runs already. It blocks the thread for a moment.
  /// - Throws: `SystemError` if the process cannot be started.
  func start(
    _ launch: ProcessLaunch, folder: String, output: OpenFile, report: OpenFile
  ) throws -> (process: RunningProcess, hold: (@Sendable () -> Void)?) {
    // `O_NOFOLLOW`, because a command may have replaced its own input file by a link.
    let input = OpenFile(try SystemCall.open(launch.standardInput, O_RDONLY | O_NOFOLLOW))
    let streams = [(input, 0), (output, 1), (output, 2)].map { PassedDescriptor($0, as: $1) }
    let start = CommandStart(
      launch, descriptors: streams + launch.passed, report: report, group: controlGroup(ofFolder: folder))
    let (pid, isHeld) = try start.perform(with: starter)
    let process = RunningProcess(pid: pid)
    state.withLock { $0.running[pid] = Command(folder: folder, process: process) }
    return (process, isHeld ? nil : start.hold(pid))
  }

  /// Reaps a command whose process has ended and whose group has been killed, and adds what it used to its launch. Of a
  /// process that another part of this program has reaped, the end is not known; it counts as killed.
  func end(_ process: RunningProcess) -> ProcessEnd {
    let reaped = ChildTable.reap(process.pid)
    let group = ChildTable.reapGroup(process.pid)
    let isSweepDue = state.withLock { state in
      if let folder = state.running.removeValue(forKey: process.pid)?.folder {
        state.uses[folder]?.ended += (reaped?.cpuTime ?? .zero) + group
      }
      state.removals += 1
      return state.removals.isMultiple(of: 256)
    }
    reapGroups(with: process.pid)
    if isSweepDue { _ = killOrphans(looksEverywhere: true) }
    return reaped.map { ProcessEnd(status: $0.status) } ?? .signalled(SIGKILL)
  }

  /// Reaps the other processes of ended commands' groups. They have been killed and are now children of this process,
  /// so they stay in the system's process table until this process reaps them.
  private func reapGroups(with group: Int32) {
    if SystemCall.signal(-group, 0) == 0 { _ = state.withLock { $0.endedGroups.insert(group) } }
    for group in state.withLock({ $0.endedGroups }) {
      _ = ChildTable.reapGroup(group)
      if SystemCall.signal(-group, 0) != 0 { _ = state.withLock { $0.endedGroups.remove(group) } }
    }
  }
}
