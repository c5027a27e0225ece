import BatonBase

/// The processor time that the owner lends, in per cent of one core. As in systemd's `CPUQuota`, `150%` is one and a
/// half cores.
package struct CPUQuota: Hashable, Sendable {
  /// In per cent of one core, 1 to 100,000.
  package let percent: Int

  package init?(percent: Int) {
    guard Self.range.contains(percent) else { return nil }
    self.percent = percent
  }

  /// - Parameter text: the setting, such as `50%` or `150%`.
  /// - Returns: `nil` for any other text.
  package init?(parsing text: String) {
    let digits = text.utf8.dropLast()
    guard text.hasSuffix("%"), (1...6).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let percent = Int(text.dropLast())
    else { return nil }
    self.init(percent: percent)
  }

  private static let range = 1...100_000

  /// The form of a correct setting, for error messages.
  package static let form = "per cent of one core, such as 50% or 150%, up to 100000%"

  /// The line for the file `cpu.max`: microseconds of processor time in each tenth of a second (kernel documentation,
  /// cgroup-v2).
  var line: String { "\(percent * 1000) 100000" }
}

/// Limits the processor time of commands: they run with a higher nice value than the other processes of the host, and
/// share one quota if the worker has control groups.
///
/// If the kernel groups processes by session, niceness only has an effect within one session (sched(7), autogroup). The
/// quota always has an effect.
package struct CPULimit: Hashable, Sendable {
  package let quota: CPUQuota
  /// The nice value, 1 to 19. If the worker itself has a higher nice value, its commands get that one.
  package let niceness: Int32
  /// The control group with the quota; `nil` if the worker cannot make control groups.
  let group: ControlGroup?
  /// A line for the log when the worker starts. It says whether the quota is enforced.
  package let notice: String

  init(_ quota: CPUQuota, niceness: Int32 = Self.defaultNiceness, group: ControlGroup?, notice: String = "") {
    self.quota = quota
    self.niceness = niceness
    self.group = group
    self.notice = notice
  }

  package static let defaultNiceness: Int32 = 10

  /// Makes the control group. Call it once in the worker process, before the first command is started. It waits for the
  /// system.
  /// - Parameter supervisor: the process id of the worker's supervisor, or `nil` if the worker has none.
  /// - Returns: the limit, with a group if one could be made. Otherwise the limit only sets the nice value.
  package static func prepare(
    _ quota: CPUQuota, niceness: Int32 = Self.defaultNiceness, supervisor: Int32? = nil
  ) -> CPULimit {
    let own = [getpid()] + (supervisor.map { [$0] } ?? [])
    do {
      let group = try ControlGroup.limited(to: quota, for: Set(own + own.flatMap { ProcessTable.descendants(of: $0) }))
      let notice = "commands without requiresExternalPower share \(quota.percent)% of a core, in \(group.path)"
      return CPULimit(quota, niceness: niceness, group: group, notice: notice)
    } catch {
      let notice = "the cpuLimit of \(quota.percent)% cannot be enforced: \(error); commands run with nice \(niceness)"
      return CPULimit(quota, niceness: niceness, group: nil, notice: notice)
    }
  }

  /// Applies the limit to the process group of `leader` and to the processes that it has started since.
  /// - Parameter launch: the launch's own control group, which is inside this limit's group; `nil` if the launch has
  ///   none.
  func apply(to leader: Int32, launch: ControlGroup? = nil) {
    ControlGroup.hold(leader, in: launch ?? group, niceness: max(niceness, Niceness.own))
  }
}

/// Reads and sets nice values (getpriority(2), setpriority(2)).
enum Niceness {
  /// The nice value of this process.
  static var own: Int32 { getpriority(processes, 0) }

  /// The lowest nice value of all processes in the group.
  static func ofGroup(_ leader: Int32) -> Int32 { getpriority(groups, id_t(leader)) }

  static func set(_ niceness: Int32, ofGroup leader: Int32) { _ = setpriority(groups, id_t(leader), niceness) }

  #if canImport(Glibc)
    private static let processes = Int32(PRIO_PROCESS.rawValue)
    private static let groups = Int32(PRIO_PGRP.rawValue)
  #else
    private static let processes = Int32(PRIO_PROCESS)
    private static let groups = Int32(PRIO_PGRP)
  #endif
}
