#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// How much processor time the owner lends, in per cent of one core, as systemd's `CPUQuota`: `150%` is one and a half.
package struct CPUQuota: Hashable, Sendable {
  /// 1 to 100,000.
  package let percent: Int

  package init?(percent: Int) {
    guard Self.range.contains(percent) else { return nil }
    self.percent = percent
  }

  /// - Parameter text: such as `50%` or `150%`; nil for anything else.
  package init?(parsing text: String) {
    let digits = text.utf8.dropLast()
    guard text.hasSuffix("%"), (1...6).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let percent = Int(text.dropLast())
    else { return nil }
    self.init(percent: percent)
  }

  private static let range = 1...100_000

  /// For people who wrote something else.
  package static let form = "per cent of one core, such as 50% or 150%, up to 100000%"

  /// A line of `cpu.max`: microseconds of processor time in each tenth of a second (kernel documentation, cgroup-v2).
  var line: String { "\(percent * 1000) 100000" }
}

/// Holds commands back: they are nice to everything else on the host, and share one quota where control groups allow.
///
/// Niceness works only between processes of one session where the kernel groups them by session (sched(7), autogroup);
/// the quota always does.
package struct CPULimit: Hashable, Sendable {
  package let quota: CPUQuota
  /// 1 to 19; nobody who is nicer already is made less so.
  package let niceness: Int32
  /// Nil where the host gives the worker none of its own.
  let group: ControlGroup?
  /// What to say in the log when the worker starts.
  package let notice: String

  init(_ quota: CPUQuota, niceness: Int32 = Self.defaultNiceness, group: ControlGroup?, notice: String = "") {
    self.quota = quota
    self.niceness = niceness
    self.group = group
    self.notice = notice
  }

  package static let defaultNiceness: Int32 = 10

  /// Makes the control group, once, before the first command is started. Call it in the worker proper; it waits for
  /// the system.
  /// - Parameter supervisor: the parent's process id, if that is this program's own.
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

  /// Holds the process group that `leader` leads back, and what it started meanwhile.
  /// - Parameter launch: the launch's own group, within this limit's; nil if it has none.
  func apply(to leader: Int32, launch: ControlGroup? = nil) {
    ControlGroup.hold(leader, in: launch ?? group, niceness: max(niceness, Niceness.own))
  }
}

/// setpriority(2).
enum Niceness {
  static var own: Int32 { getpriority(processes, 0) }

  /// The least of all in the group.
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
