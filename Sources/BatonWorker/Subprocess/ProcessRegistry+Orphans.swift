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
  /// Kills what the launch left outside its process groups, and returns when it is gone, or after 2 s if the system
  /// does not let it end (a process that waits for a dead disk).
  func sweep(after launch: LaunchKey) async {
    _ = state.withLock { $0.launches.remove(folders.folder(of: launch)) }
    guard killOrphans() else { return }
    _ = try? await onOwnThread { [self] in
      for _ in 0..<2000 where killOrphans() { usleep(1000) }
    }
  }

  /// Kills and reaps orphans that this process adopted and that come from no launch that still runs; false if there
  /// were none. A killed one passes its own children on, so that it takes a second look to find those.
  func killOrphans() -> Bool {
    let children = ProcessTable.children()
    let (known, launches) = state.withLock { state in
      (state.places.values.map { $0.process?.pid }, state.launches)
    }
    var found = false
    for child in children where isOrphan(child, known: known) && mayKill(child, launches: launches) {
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

  private func mayKill(_ child: ProcessEntry, launches: Set<String>) -> Bool {
    if child.isZombie || launches.isEmpty { return true }
    guard let name = ProcessMarker.launchFolder(of: child.pid, below: folders.launches) else { return false }
    return !launches.contains(folders.launches + "/" + name)
  }

  /// Kills what an earlier worker with this data folder left: the groups it recorded, and whatever carries its marker.
  /// Call it at start, when no launch runs; the supervisor calls it too. Returns how many processes it killed.
  @discardableResult
  package func killLeftovers() -> Int {
    var killed = 0
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folders.processes)) ?? [] {
      if killRecorded(name) { killed += 1 }
      unlink(folders.processes + "/" + name)
    }
    // What is killed may have had a child a moment before.
    for _ in 0..<100 {
      let marked = markedProcesses()
      if marked.isEmpty { break }
      for pid in marked { _ = SystemCall.signal(pid, SIGKILL) }
      killed += marked.count
      usleep(1000)
    }
    return killed
  }

  private func killRecorded(_ name: String) -> Bool {
    guard let pid = Int32(name), let entry = ProcessTable.entry(of: pid), entry.group == pid,
      let recorded = SystemCall.contents(of: folders.processes + "/" + name),
      String(decoding: recorded, as: UTF8.self) == String(entry.startTime)
    else { return false }
    return SystemCall.signal(-pid, SIGKILL) == 0
  }

  private func markedProcesses() -> [Int32] {
    ProcessTable.all().filter { entry in
      !entry.isZombie && entry.pid != getpid()
        && ProcessMarker.launchFolder(of: entry.pid, below: folders.launches) != nil
    }.map(\.pid)
  }
}
