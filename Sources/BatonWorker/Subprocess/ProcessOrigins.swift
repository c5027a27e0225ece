import BatonModel
import BatonWire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Which launch an orphan comes from, where there is no control group that knows: a value that the sweep asks.
///
/// The marker in the environment says it. Of an orphan without a marker it is known whether it was seen below a command
/// of a launch before its parent died, and when it started: it comes from no launch that began later. So a daemon that
/// hides ends with its launch if it was seen there, and at the latest when the last launch ends that ran when it
/// started, however many other launches began since.
struct ProcessOrigins: Hashable, Sendable {
  enum Verdict: Hashable, Sendable {
    case kill
    case spare
    /// The process is in `execve`, and tells in a moment.
    case lookAgain
  }

  private struct Name: Hashable {
    var pid: Int32
    var startTime: UInt64
  }

  /// Folders of launches whose processes may live, with when they began, in clock ticks since the host started.
  private(set) var launches: [String: UInt64] = [:]
  /// Processes that were seen below commands, and the sessions that they led.
  private var seen: [Name: String] = [:]
  private var sessions: [Int32: String] = [:]

  /// What is remembered of processes that were seen; above that only their markers and start times count.
  private static let limit = 10_000

  mutating func begin(_ folder: String, at ticks: UInt64) { launches[folder] = ticks }

  mutating func end(_ folder: String) { launches[folder] = nil }

  /// Call when nothing is left of the launch.
  mutating func forget(_ folder: String) {
    seen = seen.filter { $0.value != folder }
    sessions = sessions.filter { $0.value != folder }
  }

  /// Remembers what runs below a command while its parents live.
  mutating func saw(_ family: [ProcessEntry], of folder: String) {
    for entry in family where seen.count < Self.limit {
      seen[Name(pid: entry.pid, startTime: entry.startTime)] = folder
      if entry.session == entry.pid { sessions[entry.session] = folder }
    }
  }

  /// - Parameters:
  ///   - orphan: adopted by this process, and no command of a launch.
  ///   - ours: the prefix of launch folders of this worker; what carries another worker's marker is not its business.
  func verdict(on orphan: ProcessEntry, _ marker: ProcessMarker.Reading, ours: String) -> Verdict {
    if orphan.isZombie { return .kill }
    switch marker {
    case .launch(let folder): return folder.hasPrefix(ours) && launches[folder] == nil ? .kill : .spare
    case .notYet: return .lookAgain
    case .unmarked, .unreadable: return mayRun(orphan) ? .spare : .kill
    }
  }

  private func mayRun(_ orphan: ProcessEntry) -> Bool {
    let name = Name(pid: orphan.pid, startTime: orphan.startTime)
    // The number of a session is not used again while a process is in it.
    if let folder = seen[name] ?? sessions[orphan.session] { return launches[folder] != nil }
    // In the same tick either may have been first.
    return launches.values.contains { $0 <= orphan.startTime }
  }

  /// Now, as start times of processes are counted.
  static var ticks: UInt64 {
    let perSecond = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (seconds, rest) = UInt64(max(0, SystemClocks.instant().nanoseconds))
      .quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds * perSecond + rest * perSecond / 1_000_000_000
  }
}
