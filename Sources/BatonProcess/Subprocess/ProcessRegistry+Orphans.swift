import BatonBase
package import BatonModel
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ProcessRegistry {
  /// Kills the processes that a launch has left outside its process groups. They are found by the launch's control
  /// group, if it has one, and by what `ProcessOrigins` knows about each orphan. Returns when they have ended, or after
  /// about 2 s if the system does not let one end (a process that waits for a dead disk).
  package func sweep(after launch: LaunchKey) async {
    let folder = folders.folder(of: launch)
    ChildTable.end(folder)
    defer { ChildTable.forget(launch: folder) }
    let group = state.withLock { $0.groups.removeValue(forKey: folder) }
    let isEmpty = group?.remove() ?? true
    if !isEmpty { group?.kill() }
    // If the launch had a control group and it is empty, one look for orphans is enough.
    if group != nil, isEmpty, !killOrphans() { return }
    _ = try? await onOwnThread { [self] in
      var (isRemoved, emptyLooks) = (isEmpty, 0)
      for _ in 0..<2000 {
        // While a child ends, the kernel's list of children may leave out another one (proc_tid_children(5)), for
        // example during another sweep. Two empty looks at the whole process table are therefore needed. The second one
        // finds a child whose parent ended during the first.
        emptyLooks = killOrphans(looksEverywhere: emptyLooks > 0) ? 0 : emptyLooks + 1
        isRemoved = isRemoved || group?.remove() ?? true
        if isRemoved, emptyLooks > 2 { return }
        if emptyLooks == 0 { usleep(1000) }
      }
    }
  }

  /// Kills and reaps the adopted orphans that come from no running launch. The children of a killed orphan become
  /// orphans too, and are only found by another call.
  /// - Parameters:
  ///   - sparesRunning: whether to spare the processes of running launches.
  ///   - looksEverywhere: whether to search the whole process table, instead of the kernel's list of children.
  /// - Returns: `false` if there was no orphan to kill, and none about which it is not known yet.
  func killOrphans(sparesRunning: Bool = true, looksEverywhere: Bool = false) -> Bool {
    // A program that does not adopt orphans may have children of its own, which cannot be told from orphans.
    guard adoptsOrphans else { return false }
    let children = looksEverywhere ? ProcessTable.all().filter { $0.parent == getpid() } : ProcessTable.children()
    // The known children must be read after the process table. In the other order, a process that is started in between
    // would be in the process table and not known, and would be killed as an orphan.
    let (known, origins) = (ChildTable.known, sparesRunning ? ChildTable.origins : ProcessOrigins())
    var found = false
    for child in children where isOrphan(child, known: known) {
      let verdict = origins.verdict(on: child, ProcessMarker.reading(of: child.pid), ours: folders.launches + "/")
      if verdict == .lookAgain { found = true }
      guard verdict == .kill else { continue }
      // The child may have been a command that has been reaped since. Its process id may now belong to another process.
      guard ProcessTable.entry(of: child.pid)?.startTime == child.startTime else { continue }
      found = true
      _ = SystemCall.signal(child.pid, SIGKILL)
      waitpid(child.pid, nil, WNOHANG)
    }
    return found
  }

  /// Whether a child is an adopted orphan. Commands lead their own process groups in this process's session, and other
  /// children are in this process's group. A child in another session was therefore adopted. So was a child in another
  /// group that is not known, as long as no process is being started.
  private func isOrphan(_ child: ProcessEntry, known: [Int32?]) -> Bool {
    if known.contains(child.pid) { return false }
    return child.session != getsid(0) || (child.group != getpgrp() && !known.contains(nil))
  }

  /// Kills the processes that an earlier worker with this data folder left: the recorded process groups, the control
  /// groups of its launches, and all processes with the marker of one of its launches. A record alone is not enough,
  /// because a command can write to that folder and name another process of this user.
  ///
  /// Call this at the start of the worker, when no launch runs and no other worker can use the folder.
  /// - Returns: the number of processes and groups that were killed.
  @discardableResult
  package func killLeftovers() -> Int {
    var killed = 0
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folders.processes)) ?? [] {
      if killRecorded(name) { killed += 1 }
      unlink(folders.processes + "/" + name)
    }
    return killed + (groups?.killLeftovers() ?? 0) + killMarked()
  }

  /// Kills all processes with the marker of one of this worker's launches. It looks again until there are none, because
  /// a killed process may have forked just before.
  /// - Returns: the number of processes that were found.
  @discardableResult
  func killMarked() -> Int {
    var killed: Set<Int32> = []
    for round in 0..<1000 {
      let (marked, isComplete) = markedProcesses()
      if marked.isEmpty, isComplete || round > 50 { break }
      for pid in marked { _ = SystemCall.signal(pid, SIGKILL) }
      killed.formUnion(marked)
      usleep(1000)
    }
    return killed.count
  }

  private func killRecorded(_ name: String) -> Bool {
    guard let pid = Int32(name), let entry = ProcessTable.entry(of: pid), entry.group == pid,
      let recorded = SystemCall.contents(of: folders.processes + "/" + name, limit: 64),
      String(decoding: recorded, as: UTF8.self) == String(entry.startTime), isMarked(pid) == true
    else { return false }
    return SystemCall.signal(-pid, SIGKILL) == 0
  }

  /// Whether the process has the marker of one of this worker's launches; `nil` if that cannot be read at the moment.
  private func isMarked(_ pid: Int32) -> Bool? {
    switch ProcessMarker.reading(of: pid) {
    case .launch(let folder): folder.hasPrefix(folders.launches + "/")
    case .unmarked, .unreadable: false
    case .notYet: nil
    }
  }

  /// The processes with a marker of this worker, and whether the environment of every process could be read.
  private func markedProcesses() -> (marked: [Int32], isComplete: Bool) {
    var (marked, isComplete): ([Int32], Bool) = ([], true)
    for entry in ProcessTable.all() where !entry.isZombie && entry.pid != getpid() {
      switch isMarked(entry.pid) {
      case true?: marked.append(entry.pid)
      case false?: break
      case nil: isComplete = false
      }
    }
    return (marked, isComplete)
  }
}
