import BatonBase

/// The control groups of launches (Linux, cgroup v2): one group for each launch, below the worker's own group. With
/// them the kernel knows which processes belong to a launch, even if a process changes its session, parent or
/// environment.
///
/// A process is moved into its group after it was started. Processes that it forked and abandoned before that may be
/// outside the group. The sweep after each launch (`ProcessRegistry.sweep`) finds these processes too, with or without
/// control groups.
package struct LaunchGroups: Hashable, Sendable {
  /// The worker's own group. The groups of launches are below it, or below the group that has the quota.
  package let base: String
  /// The prefix of the names of all groups of this worker. Other workers may have groups in the same place.
  private let prefix: String

  /// Checks that this worker can have control groups for its launches.
  /// - Parameter owner: the worker's data folder. Two workers never share one.
  /// - Throws: `SystemError`, which says why the worker cannot have control groups, in words for its operator.
  package static func found(for owner: String) throws(SystemError) -> LaunchGroups {
    try found(for: owner, files: .system)
  }

  static func found(for owner: String, files: ControlGroupFiles) throws(SystemError) -> LaunchGroups {
    let groups = LaunchGroups(base: try ControlGroup.base(files: files), prefix: "baton-" + hash(owner) + "-")
    // To move a process, a worker must be allowed to write to this file of its own group too (kernel documentation,
    // cgroup-v2, delegation).
    guard files.mayWrite(groups.base + "/cgroup.procs") else {
      throw SystemError(
        .noControlGroups,
        "this worker may not make groups below \(groups.base): give its systemd unit 'Delegate=yes'")
    }
    try groups.tryOne(files)
    return groups
  }

  /// Makes a group and removes it again.
  private func tryOne(_ files: ControlGroupFiles) throws(SystemError) {
    let trial = base + "/" + prefix + "trial"
    let made = files.makeFolder(trial)
    guard made == 0 || made == EEXIST else {
      throw ControlGroup.failure("cannot make \(trial)", made)
    }
    defer { _ = files.removeFolder(trial) }
    // Processes cannot be moved into a group of these types (kernel documentation, cgroup-v2, threads).
    let type = files.read(trial + "/cgroup.type") ?? ""
    guard !["threaded", "domain invalid", "domain threaded"].contains(where: type.hasPrefix) else {
      throw SystemError(.noControlGroups, "groups below \(base) are threaded and cannot contain processes")
    }
    guard files.mayWrite(trial + "/cgroup.kill") else {
      throw SystemError(.noControlGroups, "this kernel has no cgroup.kill: Linux 5.14 and later have it")
    }
  }

  /// Makes the group of a launch. Returns `nil` if the system refuses it, for example at `cgroup.max.descendants`. Only
  /// the sweep then finds the launch's processes.
  /// - Parameter quota: the group whose quota the launch shares.
  func make(_ launch: String, inside quota: ControlGroup?) -> ControlGroup? {
    let path = (quota?.path ?? base) + "/" + prefix + launch
    let code = ControlGroupFiles.system.makeFolder(path)
    return code == 0 || code == EEXIST ? ControlGroup(path: path) : nil
  }

  /// Kills and removes the groups that an earlier worker with the same data folder left. Waits for at most 2 s until
  /// their processes have ended.
  /// - Returns: the number of processes that were in the groups.
  func killLeftovers() -> Int {
    let left = [base, base + "/limited"].flatMap { folder in
      SystemRoot(folder).names(in: "").filter { $0.hasPrefix(prefix) }.map { ControlGroup(path: folder + "/" + $0) }
    }
    let members = left.reduce(0) { $0 + $1.members }
    for group in left { group.kill() }
    for _ in 0..<2000 where !left.allSatisfy({ $0.remove() }) { usleep(1000) }
    return members
  }

  /// FNV-1a with 64 bits (RFC 9923). The hash only has to distinguish the few workers of one host.
  private static func hash(_ text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension ControlGroup {
  /// Moves the process group of `leader`, and the processes that it has started since, into `group`, and sets their
  /// nice value. A process runs before it can be moved, so this looks for new processes until there are none. Processes
  /// that are forked later inherit the group and the nice value. On Linux the leader has the nice value from its start.
  /// Elsewhere a process that is being forked at this moment may keep the old one.
  static func hold(_ leader: Int32, in group: ControlGroup?, niceness: Int32?) {
    var held: Set<Int32> = []
    for _ in 0..<holdingRounds {
      if let niceness { Niceness.set(niceness, ofProcessGroup: leader) }
      let others = group == nil ? [] : ProcessTable.family(of: leader).filter { held.insert($0).inserted }
      for pid in others { group?.add(pid) }
      if others.isEmpty, niceness.map({ Niceness.ofProcessGroup(leader) >= $0 }) ?? true { return }
    }
  }

  /// How often new processes are looked for. The children of a process that forks faster than this are left alone; the
  /// process itself is in the group.
  private static var holdingRounds: Int { 50 }

  /// Kills all processes in this group and in the groups below it, including processes that are being forked (kernel
  /// documentation, cgroup-v2).
  func kill() { _ = ControlGroupFiles.system.write("1", path + "/cgroup.kill") }

  /// Removes the group. Returns `true` when it is gone. A group with a running process cannot be removed.
  func remove() -> Bool {
    if rmdir(path) == 0 || errno == ENOENT { return true }
    // The launch may have made control groups below its own.
    for name in SystemRoot(path).names(in: "") where SystemCall.isFolder(path + "/" + name) {
      guard ControlGroup(path: path + "/" + name).remove() else { return false }
    }
    return rmdir(path) == 0
  }

  /// The number of processes in this group, without the groups below it.
  fileprivate var members: Int {
    (ControlGroupFiles.system.read(path + "/cgroup.procs") ?? "").split(separator: "\n").count
  }
}

extension ControlGroup {
  /// Whether the group has the `cpu` controller, so that groups below it can have a quota.
  package var hasProcessorTime: Bool {
    (ControlGroupFiles.system.read(path + "/cgroup.controllers") ?? "").split(whereSeparator: \.isWhitespace)
      .contains("cpu")
  }
}
