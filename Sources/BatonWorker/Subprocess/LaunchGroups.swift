#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Control groups of launches (Linux, cgroup v2): one for each, below the worker's own, so that the kernel itself knows
/// what comes from a launch, whatever session, parent or environment that gave itself.
///
/// A process is put into its group when it has been started: what it forked in its first moments, and let go of, may be
/// outside. That is left to the sweep, which looks after every launch, with groups or without.
package struct LaunchGroups: Hashable, Sendable {
  /// The worker's own group; groups of launches are below it, or below the one that shares its quota.
  package let base: String
  /// Of the names of all groups of this worker: others may have theirs beside them.
  private let prefix: String

  /// - Parameter owner: the worker's data folder, which no two workers share.
  /// - Throws: why this worker can have none, in words for its operator.
  package static func found(for owner: String) throws(ControlGroupError) -> LaunchGroups {
    try found(for: owner, files: .system)
  }

  static func found(for owner: String, files: ControlGroupFiles) throws(ControlGroupError) -> LaunchGroups {
    let groups = LaunchGroups(base: try ControlGroup.base(files: files), prefix: "baton-" + hash(owner) + "-")
    // Moving a process takes the right to write there, too (kernel documentation, cgroup-v2, delegation).
    guard files.mayWrite(groups.base + "/cgroup.procs") else {
      throw ControlGroupError(
        "\(groups.base) is not this worker's to divide: a systemd unit gets a group of its own with 'Delegate=yes'")
    }
    try groups.tryOne(files)
    return groups
  }

  /// Makes a group and takes it away again.
  private func tryOne(_ files: ControlGroupFiles) throws(ControlGroupError) {
    let trial = base + "/" + prefix + "trial"
    let made = files.makeFolder(trial)
    guard made == 0 || made == EEXIST else {
      throw ControlGroupError("cannot make \(trial): \(SystemCall.explanation(of: made))")
    }
    defer { _ = files.removeFolder(trial) }
    // Nobody can be moved into one of another type (kernel documentation, cgroup-v2, threads).
    let type = files.read(trial + "/cgroup.type") ?? ""
    guard !["threaded", "domain invalid", "domain threaded"].contains(where: type.hasPrefix) else {
      throw ControlGroupError("groups below \(base) take no processes, only threads")
    }
    guard files.mayWrite(trial + "/cgroup.kill") else {
      throw ControlGroupError("this kernel has no cgroup.kill: Linux 5.14 and later have it")
    }
  }

  /// A new group; nil if the system refuses, as at `cgroup.max.descendants`: then the sweep is alone.
  /// - Parameter quota: the group whose quota it shares.
  func make(_ launch: String, inside quota: ControlGroup?) -> ControlGroup? {
    let path = (quota?.path ?? base) + "/" + prefix + launch
    let code = ControlGroupFiles.system.makeFolder(path)
    return code == 0 || code == EEXIST ? ControlGroup(path: path) : nil
  }

  /// Kills and removes the groups that an earlier worker with the same data folder left; answers how many processes
  /// were in them. Waits until they have ended, for 2 s at most.
  func killLeftovers() -> Int {
    let left = [base, base + "/limited"].flatMap { folder in
      SystemRoot(folder).names(in: "").filter { $0.hasPrefix(prefix) }.map { ControlGroup(path: folder + "/" + $0) }
    }
    let members = left.reduce(0) { $0 + $1.members }
    for group in left { group.kill() }
    for _ in 0..<2000 where !left.allSatisfy({ $0.remove() }) { usleep(1000) }
    return members
  }

  /// FNV-1a of 64 bits (RFC 9923): it only tells apart the few workers of one host.
  private static func hash(_ text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension ControlGroup {
  /// Puts the process group that `leader` leads, and what it started meanwhile, here and makes it nice. A process starts
  /// before anybody can take hold of it, so it looks again until there is nobody new. What is forked later inherits
  /// both.
  static func hold(_ leader: Int32, in group: ControlGroup?, niceness: Int32?) {
    var held: Set<Int32> = []
    for _ in 0..<holdingRounds {
      if let niceness { Niceness.set(niceness, ofGroup: leader) }
      let others = group == nil ? [] : ProcessTable.family(of: leader).filter { held.insert($0).inserted }
      for pid in others { group?.add(pid) }
      if others.isEmpty, niceness.map({ Niceness.ofGroup(leader) >= $0 }) ?? true { return }
    }
  }

  /// One that forks faster than this runs on as it is: its parent at least is held.
  private static var holdingRounds: Int { 50 }

  /// Kills everything in it and below it, also what is being forked meanwhile (kernel documentation, cgroup-v2).
  func kill() { _ = ControlGroupFiles.system.write("1", path + "/cgroup.kill") }

  /// True once it is gone: a group with a living process in it stays.
  func remove() -> Bool {
    if rmdir(path) == 0 || errno == ENOENT { return true }
    // A launch may have made groups of its own in it.
    for name in SystemRoot(path).names(in: "") where SystemCall.isFolder(path + "/" + name) {
      guard ControlGroup(path: path + "/" + name).remove() else { return false }
    }
    return rmdir(path) == 0
  }

  fileprivate var members: Int {
    (ControlGroupFiles.system.read(path + "/cgroup.procs") ?? "").split(separator: "\n").count
  }
}

extension ControlGroup {
  /// Its children can have a quota.
  package var hasProcessorTime: Bool {
    (ControlGroupFiles.system.read(path + "/cgroup.controllers") ?? "").split(whereSeparator: \.isWhitespace)
      .contains("cpu")
  }
}
