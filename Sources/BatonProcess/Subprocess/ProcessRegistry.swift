import BatonBase
package import BatonModel
import CBatonProcess
import Synchronization

/// Knows every command that this worker has started and that has not ended yet. It keeps them in memory, and in one
/// small file for each, so that the next worker can kill them if this worker is killed.
///
/// A file is named after the process id and contains the process's start time, because the id may be used again by
/// another process. Files are written without fsync, because after a power loss no process is left. Where the system
/// does not tell start times (macOS), no files are written, and the commands of a killed worker go on.
package final class ProcessRegistry: Sendable {
  let folders: WorkerFolders
  let adoptsOrphans: Bool
  /// `nil` if the worker cannot make control groups.
  let groups: LaunchGroups?
  let state = Mutex(State())

  struct State {
    var places: [Int: Place] = [:]
    /// The process groups of reaped commands that still had other members when the command was reaped.
    var endedGroups: Set<Int32> = []
    var removals = 0
    /// What the commands of each launch have used, by the launch's folder.
    var uses: [String: LaunchUse] = [:]
    /// The control groups of running launches, by the launch's folder.
    var groups: [String: ControlGroup] = [:]
  }

  /// A command that is being started or runs.
  struct Place {
    var folder: String
    /// `nil` while the process is being started.
    var process: RunningProcess?
    /// The process has ended, and its use has been added to the launch's ended commands.
    var isCounted = false
  }

  /// - Parameters:
  ///   - folders: the worker's folders.
  ///   - adoptsOrphans: whether this process becomes the parent of the processes that its commands leave behind
  ///     (Linux). It then finds a daemon that has left its session and process group when the launch ends. A program
  ///     that starts children of its own may not want this. Without it, such daemons go on, unless there are control
  ///     groups.
  ///   - groups: makes a control group for each launch; `nil` if the worker cannot make control groups.
  package init(folders: WorkerFolders, adoptsOrphans: Bool = true, groups: LaunchGroups? = nil) {
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
    state.withLock { state in state.places.values.filter { includes($0.folder) }.compactMap(\.process) }
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

/// Entries of single processes.
extension ProcessRegistry {
  /// Reserves a place for a process (see `ChildTable.reserve`). Call this before the process is started.
  func reserve(folder: String) -> Int {
    let place = ChildTable.reserve()
    state.withLock { $0.places[place] = Place(folder: folder) }
    return place
  }

  /// Enters a process that has been started, and writes its file.
  func register(pid: Int32, at place: Int) -> RunningProcess {
    let process = RunningProcess(pid: pid)
    ChildTable.remember(pid, at: place)
    state.withLock { $0.places[place]?.process = process }
    if let entry = ProcessTable.entry(of: pid) {
      // An error is ignored. It has one consequence: if the worker is killed now, the next worker does not find
      // processes of this group that have cleared their environment.
      try? SystemCall.write(Array(String(entry.startTime).utf8), to: record(of: pid))
    }
    return process
  }

  /// Removes a process. Call this when the process has been reaped, or could not be started.
  func remove(_ place: Int) {
    let (process, isSweepDue) = state.withLock { state in
      state.removals += 1
      return (state.places.removeValue(forKey: place)?.process, state.removals.isMultiple(of: 256))
    }
    ChildTable.forget(place)
    guard let process else { return }
    unlink(record(of: process.pid))
    reapGroup(process.pid)
    if isSweepDue { _ = killOrphans() }
  }

  func record(of pid: Int32) -> String { "\(folders.processes)/\(pid)" }

  /// Reaps the other processes of an ended command's group. They have been killed and are now children of this process,
  /// so they stay in the system's process table until this process reaps them.
  private func reapGroup(_ group: Int32) {
    if SystemCall.signal(-group, 0) == 0 { _ = state.withLock { $0.endedGroups.insert(group) } }
    for group in state.withLock({ $0.endedGroups }) {
      while waitpid(-group, nil, WNOHANG) > 0 {}
      if SystemCall.signal(-group, 0) != 0 { _ = state.withLock { $0.endedGroups.remove(group) } }
    }
  }
}
