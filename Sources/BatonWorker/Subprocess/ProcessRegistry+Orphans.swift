import BatonModel
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension ProcessRegistry {
  /// Kills what the launch left outside its process groups, by its control group if it has one and by what is known of
  /// each orphan, and returns when it is gone, or after 2 s if the system does not let it end (a process that waits for
  /// a dead disk).
  func sweep(after launch: LaunchKey) async {
    let folder = folders.folder(of: launch)
    ChildTable.end(folder)
    defer { ChildTable.forget(launch: folder) }
    let group = state.withLock { $0.groups.removeValue(forKey: folder) }
    let isEmpty = group?.remove() ?? true
    if !isEmpty { group?.kill() }
    // Where there is a control group the kernel says what is left.
    if group != nil, isEmpty, !killOrphans() { return }
    _ = try? await onOwnThread { [self] in
      var (isRemoved, emptyLooks) = (isEmpty, 0)
      for _ in 0..<2000 {
        // The kernel's list of children may leave one out while another one ends (proc_tid_children(5)), as in a second
        // sweep beside this: only the whole table counts as empty, and twice, for a child whose parent ended meanwhile.
        emptyLooks = killOrphans(looksEverywhere: emptyLooks > 0) ? 0 : emptyLooks + 1
        isRemoved = isRemoved || group?.remove() ?? true
        if isRemoved, emptyLooks > 2 { return }
        if emptyLooks == 0 { usleep(1000) }
      }
    }
  }

  /// Kills and reaps orphans that this process adopted and that come from no launch that still runs; false if there
  /// were none, and none that may turn out to be one in a moment. A killed one passes its own children on, so that it
  /// takes a second look to find those.
  /// - Parameters:
  ///   - sparesRunning: false kills what launches that still run left, too.
  ///   - looksEverywhere: at every process of the host, and not only at the kernel's list of children.
  func killOrphans(sparesRunning: Bool = true, looksEverywhere: Bool = false) -> Bool {
    // In a program that has children of its own, nobody can tell them from orphans.
    guard adoptsOrphans else { return false }
    let children = looksEverywhere ? ProcessTable.all().filter { $0.parent == getpid() } : ProcessTable.children()
    // In this order: what is started after the look at the table is not in it.
    let (known, origins) = (ChildTable.known, sparesRunning ? ChildTable.origins : ProcessOrigins())
    var found = false
    for child in children where isOrphan(child, known: known) {
      let verdict = origins.verdict(on: child, ProcessMarker.reading(of: child.pid), ours: folders.launches + "/")
      if verdict == .lookAgain { found = true }
      guard verdict == .kill else { continue }
      // It may have been a command of ours that was reaped meanwhile, and its number another process's.
      guard ProcessTable.entry(of: child.pid)?.startTime == child.startTime else { continue }
      found = true
      _ = SystemCall.signal(child.pid, SIGKILL)
      waitpid(child.pid, nil, WNOHANG)
    }
    return found
  }

  /// Commands lead groups of their own in this process's session, other children share its group: whatever is in
  /// another session was adopted, and so is whatever leads no known command's group while none is being started.
  private func isOrphan(_ child: ProcessEntry, known: [Int32?]) -> Bool {
    if known.contains(child.pid) { return false }
    return child.session != getsid(0) || (child.group != getpgrp() && !known.contains(nil))
  }

  /// Kills what an earlier worker with this data folder left: the process groups it recorded, the control groups of its
  /// launches, and whatever carries its marker. A record alone kills nothing: a command can write there, and would name
  /// another process of this user.
  /// Call it at start, when no launch runs and no other worker can use the folder. Returns how many processes and
  /// groups it killed.
  @discardableResult
  package func killLeftovers() -> Int {
    var killed = 0
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folders.processes)) ?? [] {
      if killRecorded(name) { killed += 1 }
      unlink(folders.processes + "/" + name)
    }
    return killed + (groups?.killLeftovers() ?? 0) + killMarked()
  }

  /// Kills what carries the marker of a launch of this worker, and looks again until there is nothing: what is killed
  /// may have had a child a moment before. Returns how many it found.
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

  /// Nil while nobody can say.
  private func isMarked(_ pid: Int32) -> Bool? {
    switch ProcessMarker.reading(of: pid) {
    case .launch(let folder): folder.hasPrefix(folders.launches + "/")
    case .unmarked, .unreadable: false
    case .notYet: nil
    }
  }

  /// What carries the marker now, and whether every process could be asked.
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
