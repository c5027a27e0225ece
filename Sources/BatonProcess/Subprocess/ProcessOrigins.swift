import BatonBase
import BatonModel

/// Decides which launch an orphan comes from, for launches without a control group. It is a value; the sweep
/// (`ProcessRegistry.sweep`) asks it.
///
/// The marker in the environment names the launch. For an orphan without a marker, two facts are used: whether it was
/// seen below a command of a launch before its parent died, and when it started, because it cannot come from a launch
/// that began later. A daemon that hides its origin therefore ends with its launch if it was seen there. Otherwise it
/// ends when the last launch ends that ran when the daemon started, however many launches have begun since.
struct ProcessOrigins: Hashable, Sendable {
  enum Verdict: Hashable, Sendable {
    case kill
    case spare
    /// The process is in `execve`. Its environment can be read a moment later.
    case lookAgain
  }

  private struct Name: Hashable {
    var pid: Int32
    var startTime: UInt64
  }

  /// The folders of the running launches, with the times at which they began, in clock ticks since the host started.
  private(set) var launches: [String: UInt64] = [:]
  /// The processes that were seen below commands, with the folders of their launches.
  private var seen: [Name: String] = [:]
  /// The sessions that these processes lead.
  private var sessions: [Int32: String] = [:]

  /// The largest number of processes to remember. Other processes are judged only by their markers and start times.
  private static let limit = 10_000

  mutating func begin(_ folder: String, at ticks: UInt64) { launches[folder] = ticks }

  mutating func end(_ folder: String) { launches[folder] = nil }

  /// Call this when the launch has no processes left.
  mutating func forget(_ folder: String) {
    seen = seen.filter { $0.value != folder }
    sessions = sessions.filter { $0.value != folder }
  }

  /// Remembers the processes that run below a command while their parents are alive.
  mutating func saw(_ family: [ProcessEntry], of folder: String) {
    for entry in family where seen.count < Self.limit {
      seen[Name(pid: entry.pid, startTime: entry.startTime)] = folder
      if entry.session == entry.pid { sessions[entry.session] = folder }
    }
  }

  /// Decides about an orphan.
  /// - Parameters:
  ///   - orphan: a process that this process has adopted, and that is not a command of a launch.
  ///   - ours: the path prefix of the launch folders of this worker. A process with another worker's marker is spared.
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
    // A session id is not used again while the session has a process.
    if let folder = seen[name] ?? sessions[orphan.session] { return launches[folder] != nil }
    // If both have the same tick, the launch may have begun before the process.
    return launches.values.contains { $0 <= orphan.startTime }
  }

  /// The current time in the unit of process start times: clock ticks since the host started.
  static var ticks: UInt64 {
    let perSecond = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (seconds, rest) = UInt64(max(0, SystemClocks.instant().nanoseconds))
      .quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds * perSecond + rest * perSecond / 1_000_000_000
  }
}
