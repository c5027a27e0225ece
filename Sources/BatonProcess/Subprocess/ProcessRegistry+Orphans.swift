import BatonBase
package import BatonModel
import Synchronization

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
    if isEmpty, killOrphans() == .noOrphans { return }
    _ = try? await onOwnThread { [self] in
      var (isRemoved, emptyLooks) = (isEmpty, 0)
      for _ in 0..<2000 {
        let found = killOrphans(looksEverywhere: emptyLooks > 0)
        // After a look that may have missed a child, two looks at the whole process table are needed. The second one
        // finds a child whose parent ended during the first.
        emptyLooks = found == .orphans ? 0 : emptyLooks + (found == .noOrphans ? 3 : 1)
        isRemoved = isRemoved || group?.remove() ?? true
        if isRemoved, emptyLooks > 2 { return }
        if emptyLooks == 0 { usleep(1000) }
      }
    }
  }

  /// What a look for orphans has found.
  enum Finding: Hashable, Sendable {
    /// Orphans that were killed, or about which it is not known yet whether they have to be.
    case orphans
    /// There is no orphan to kill.
    case noOrphans
    /// No orphan to kill was found, but one may have been missed.
    case notSure
  }

  /// Kills and reaps the adopted orphans that come from no running launch. The children of a killed orphan become
  /// orphans too, and are only found by another call.
  /// - Parameters:
  ///   - sparesRunning: whether to spare the processes of running launches.
  ///   - looksEverywhere: whether to search the whole process table, instead of the kernel's list of children.
  func killOrphans(sparesRunning: Bool = true, looksEverywhere: Bool = false) -> Finding {
    // A program that does not adopt orphans may have children of its own, which cannot be told from orphans.
    guard adoptsOrphans else { return .noOrphans }
    let look = ChildTable.look(everywhere: looksEverywhere)
    let origins = sparesRunning ? look.origins : ProcessOrigins()
    var found = false
    for child in look.strangers where isOrphan(child, in: look) {
      let verdict = verdict(on: child, origins)
      if verdict == .lookAgain { found = true }
      guard verdict == .kill else { continue }
      // The child may have been reaped since. Its process id may now belong to another process.
      guard ProcessTable.entry(of: child.pid)?.startTime == child.startTime else { continue }
      found = true
      _ = SystemCall.signal(child.pid, SIGKILL)
      ChildTable.reapOrphan(child.pid)
    }
    return found ? .orphans : look.isComplete ? .noOrphans : .notSure
  }

  private func verdict(on child: ProcessEntry, _ origins: ProcessOrigins) -> ProcessOrigins.Verdict {
    let marker = ProcessMarker.reading(of: child.pid)
    // A process that is about to end has no environment any more, and may have children that are not orphans yet.
    if marker == .unreadable, !child.isZombie, ProcessTable.entry(of: child.pid)?.hasMemory != true {
      return .lookAgain
    }
    return origins.verdict(on: child, marker, ours: folders.launches + "/")
  }

  /// Whether a child that this process has not started is an adopted orphan. Commands lead their own process groups in
  /// this process's session, and other children are in this process's group. A child in another session was therefore
  /// adopted. So was a child in another group, as long as no process is being started.
  private func isOrphan(_ child: ProcessEntry, in look: ChildTable.Look) -> Bool {
    child.session != getsid(0) || (child.group != getpgrp() && !look.mayBeStarting)
  }

  /// Kills the processes that an earlier worker with this data folder left: the control groups of its launches, and all
  /// processes with the marker of one of its launches, with the process groups that they lead.
  ///
  /// Call this at the start of the worker, when no launch runs and no other worker can use the folder.
  /// - Returns: the number of processes and groups that were killed.
  @discardableResult
  package func killLeftovers() -> Int {
    (groups?.killLeftovers() ?? 0) + killMarked()
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
      for entry in marked {
        // The members of its group may have cleared their environment. While the leader lives, the group is its own.
        if entry.group == entry.pid { _ = SystemCall.signal(-entry.pid, SIGKILL) }
        _ = SystemCall.signal(entry.pid, SIGKILL)
      }
      killed.formUnion(marked.map(\.pid))
      usleep(1000)
    }
    return killed.count
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
  private func markedProcesses() -> (marked: [ProcessEntry], isComplete: Bool) {
    var (marked, isComplete): ([ProcessEntry], Bool) = ([], true)
    for entry in ProcessTable.all() where !entry.isZombie && entry.pid != getpid() {
      switch isMarked(entry.pid) {
      case true?: marked.append(entry)
      case false?: break
      case nil: isComplete = false
      }
    }
    return (marked, isComplete)
  }
}
