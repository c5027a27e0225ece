import BatonBase
package import BatonModel

extension CPUQuota {
  /// The content of the file `cpu.max`: microseconds of processor time in each tenth of a second (kernel documentation,
  /// cgroup-v2).
  var cpuMaxText: String { "\(percent * 1000) 100000" }
}

/// Bounds the processor time of the commands of jobs without `requiresExternalPower`. They run with a lower priority (a
/// higher nice value) than other processes of the host and, if the worker has control groups, share one quota. Swift
/// handlers are not bounded.
///
/// With autogroup (sched(7)), which is usual on desktops, a nice value counts only against processes of the same
/// session, and each command has a session of its own. A quota counts against all processes.
package struct CPULimit: Hashable, Sendable {
  package let quota: CPUQuota
  /// The nice value, 1 to 19, which is not checked here. If the worker has a higher one, its commands get the worker's.
  package let niceness: Int32
  /// The control group with the quota; `nil` if the worker cannot make control groups.
  let group: ControlGroup?
  /// A line for the log when the worker starts, which says whether the quota is enforced. It is empty only in tests.
  package let notice: String

  init(_ quota: CPUQuota, niceness: Int32 = Self.defaultNiceness, group: ControlGroup?, notice: String = "") {
    self.quota = quota
    self.niceness = niceness
    self.group = group
    self.notice = notice
  }

  package static let defaultNiceness: Int32 = 10

  /// Makes the control group of the commands. For this it moves the worker, its supervisor and their descendants into a
  /// group beside it (`ControlGroup.limited`). Call this function once in the worker process, before the first command
  /// is started, on a thread of its own: it blocks the thread while it writes files of the kernel.
  /// - Parameter supervisor: the process id of the worker's supervisor, or `nil` if the worker has none.
  /// - Returns: the limit, with a group if one could be made. Otherwise the limit only sets the nice value.
  package static func prepare(
    _ quota: CPUQuota, niceness: Int32 = Self.defaultNiceness, supervisor: Int32? = nil
  ) -> CPULimit {
    let roots = [getpid()] + (supervisor.map { [$0] } ?? [])
    // The kernel refuses to divide a group while processes are in the group itself, so all of them have to move.
    let processes = Set(roots + roots.flatMap { ProcessTable.descendants(of: $0) })
    do {
      let group = try ControlGroup.limited(to: quota, for: processes)
      let notice = "commands without requiresExternalPower share \(quota.percent)% of a core, in \(group.path)"
      return CPULimit(quota, niceness: niceness, group: group, notice: notice)
    } catch {
      let nice = max(niceness, Niceness.own)
      let notice = "the cpuLimit of \(quota.percent)% cannot be enforced: \(error); commands run with nice \(nice)"
      return CPULimit(quota, niceness: niceness, group: nil, notice: notice)
    }
  }

  /// The nice value that commands get.
  var effectiveNiceness: Int32 { max(niceness, Niceness.own) }
}

/// Reads and sets nice values (getpriority(2), setpriority(2)).
enum Niceness {
  /// The nice value of this process.
  static var own: Int32 { getpriority(processes, 0) }

  /// The lowest nice value of all processes in the process group.
  static func ofProcessGroup(_ leader: Int32) -> Int32 { getpriority(groups, id_t(leader)) }

  /// Sets the nice value of all processes in the process group. A failure is ignored, because the processes may have
  /// ended.
  static func set(_ niceness: Int32, ofProcessGroup leader: Int32) {
    _ = setpriority(groups, id_t(leader), niceness)
  }

  #if canImport(Glibc)
    private static let processes = Int32(PRIO_PROCESS.rawValue)
    private static let groups = Int32(PRIO_PGRP.rawValue)
  #else
    private static let processes = Int32(PRIO_PROCESS)
    private static let groups = Int32(PRIO_PGRP)
  #endif
}
