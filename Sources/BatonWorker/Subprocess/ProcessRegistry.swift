package import BatonModel
import CBatonProcess
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Every command that this worker has started and not yet seen end, in memory and as one small file each, so that
/// they can be killed by whoever comes next if the worker is killed first.
///
/// A file is named after the process and holds its start time, because a number alone may be another process by then.
/// It is written without fsync: after a power loss there is nothing to kill. Where the system tells no start time
/// (macOS) no file is written, and only a worker that ends in order leaves nothing behind.
package final class ProcessRegistry: Sendable {
  let folders: WorkerFolders
  let adoptsOrphans: Bool
  /// Nil where the worker can have no control groups.
  let groups: LaunchGroups?
  let state = Mutex(State())

  struct State {
    var places: [Int: Place] = [:]
    /// Groups of commands that were reaped and had other members then.
    var endedGroups: Set<Int32> = []
    var removals = 0
    /// Launch folders with what their ended commands used, and the most that was ever seen of all.
    var uses: [String: LaunchUse] = [:]
    /// Launch folders with the groups of launches that run.
    var groups: [String: ControlGroup] = [:]
  }

  struct Place {
    var folder: String
    /// Nil while it is being started.
    var process: RunningProcess?
    /// Its use is among that of the ended ones.
    var isCounted = false
  }

  /// - Parameter adoptsOrphans: makes this process the parent of what its commands leave behind (Linux), so that a
  ///   daemon that left its session and process group is found when its launch ends. A program that starts children
  ///   of its own may not want that: then such daemons are left, where there are no control groups either.
  /// - Parameter groups: where each launch has a control group of its own.
  package init(folders: WorkerFolders, adoptsOrphans: Bool = true, groups: LaunchGroups? = nil) {
    self.folders = folders
    self.groups = groups
    self.adoptsOrphans = adoptsOrphans
    if adoptsOrphans { _ = baton_become_subreaper() }
  }

  /// Ends the commands of one launch at once, such as when it is withdrawn.
  package func kill(_ launch: LaunchKey) {
    let folder = folders.folder(of: launch)
    for process in running(where: { $0 == folder }) { process.signal(SIGKILL) }
  }

  /// Ends every command at once, and what they left behind; returns when it is dead, within a second. For a worker
  /// that has to end its process now: it waits on the thread that calls it.
  package func killAll() {
    for process in running(where: { _ in true }) { process.signal(SIGKILL) }
    for group in state.withLock({ Array($0.groups.values) }) { group.kill() }
    killMarked()
    _ = killOrphans(sparesRunning: false)
  }

  func running(where includes: (String) -> Bool) -> [RunningProcess] {
    state.withLock { state in state.places.values.filter { includes($0.folder) }.compactMap(\.process) }
  }

  /// From now on processes that carry the launch's marker may live.
  /// - Parameter limit: what the launch's commands are held to.
  func begin(_ launch: LaunchKey, limit: CPULimit? = nil) {
    let folder = folders.folder(of: launch)
    ChildTable.begin(folder)
    let group = groups?.make("\(launch.request)-\(launch.number)", inside: limit?.group)
    state.withLock { ($0.uses[folder], $0.groups[folder]) = (LaunchUse(), group) }
  }

  /// Nil if the launch has none.
  func controlGroup(ofFolder folder: String) -> ControlGroup? { state.withLock { $0.groups[folder] } }
}

/// One process after the other.
extension ProcessRegistry {
  /// Call before a process is started (`ChildTable.reserve`).
  func reserve(folder: String) -> Int {
    let place = ChildTable.reserve()
    state.withLock { $0.places[place] = Place(folder: folder) }
    return place
  }

  func register(pid: Int32, at place: Int) -> RunningProcess {
    let process = RunningProcess(pid: pid)
    ChildTable.remember(pid, at: place)
    state.withLock { $0.places[place]?.process = process }
    if let entry = ProcessTable.entry(of: pid) {
      // Without the file only a process that clears its environment is missed, should the worker be killed now.
      try? SystemCall.write(Array(String(entry.startTime).utf8), to: record(of: pid))
    }
    return process
  }

  /// Call when the process is reaped, or could not be started.
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

  /// What a command left in its group was killed, and is this process's child now: it stays in the system's table
  /// until it is reaped.
  private func reapGroup(_ group: Int32) {
    if SystemCall.signal(-group, 0) == 0 { _ = state.withLock { $0.endedGroups.insert(group) } }
    for group in state.withLock({ $0.endedGroups }) {
      while waitpid(-group, nil, WNOHANG) > 0 {}
      if SystemCall.signal(-group, 0) != 0 { _ = state.withLock { $0.endedGroups.remove(group) } }
    }
  }
}
