import BatonBase
import Synchronization

/// The processor time and memory that processes use, from `/proc/PID/stat` (proc_pid_stat(5)). On a system without it
/// (macOS), the use is not known.
package struct ProcessUse: Hashable, Sendable {
  /// User and system time. Its resolution is the kernel's clock tick (10 ms on most hosts).
  package var cpuTime = Duration.zero
  /// Resident memory in bytes. A page that several processes share counts for each of them.
  package var memory: Int64 = 0

  static func + (left: Self, right: Self) -> Self {
    ProcessUse(cpuTime: left.cpuTime + right.cpuTime, memory: left.memory + right.memory)
  }

  /// The user and system time of a process, of its running descendants, and of all processes that these have reaped.
  /// `nil` if there is no such process, or the system does not tell.
  ///
  /// The sum does not decrease when a child is reaped, because its time is added to its parent. Two kinds of time are
  /// lost: that of descendants whose parent ended before them, because they get another parent, and that of the
  /// children of a process that ignores SIGCHLD, because the kernel drops their time (wait(2)).
  package static func cpuTime(ofTree pid: Int32) -> Duration? { tree(pid)?.cpuTime }

  /// Like `cpuTime(ofTree:)`, with the memory of the running processes.
  static func tree(_ pid: Int32) -> ProcessUse? { steady(pid) { ProcessTable.descendants(of: pid) } }

  /// Like `tree`, plus the processes that left the tree but not the process group of `leader`, if this process has
  /// adopted them.
  static func family(of leader: Int32) -> ProcessUse? {
    steady(leader) { ProcessTable.family(of: leader).filter { $0 != leader } }
  }

  /// The user and system time of these processes, and of all processes that they have reaped; `nil` if one of them has
  /// ended.
  fileprivate static func cpuTime(of processes: [Int32]) -> Duration? {
    guard let first = processes.first else { return nil }
    var isWhole = true
    let use = steady(first) {
      isWhole = processes.allSatisfy { SystemCall.signal($0, 0) == 0 }
      return Array(processes.dropFirst())
    }
    return isWhole ? use?.cpuTime : nil
  }

  /// Reads the samples of a process and of `others` until they are consistent, and adds them up.
  private static func steady(_ pid: Int32, _ others: () -> [Int32]) -> ProcessUse? {
    var last: [ProcessSample] = []
    for _ in 0..<attempts {
      guard let first = ProcessSample(of: pid) else { return nil }
      last = [first] + others().compactMap { ProcessSample(of: $0) }
      if isSteady(last) { break }
    }
    return sum(last)
  }

  /// How often the samples are read again. For a process that reaps children all the time, the last samples are used.
  private static let attempts = 4

  private static func sum(_ samples: [ProcessSample]) -> ProcessUse {
    samples.reduce(ProcessUse()) { sum, sample in
      sum + ProcessUse(cpuTime: tick * Int(sample.ownTicks + sample.reapedTicks), memory: sample.pages * pageSize)
    }
  }

  /// Whether no process reaped a child while the samples were read. Such a child would be counted twice or not at all.
  private static func isSteady(_ samples: [ProcessSample]) -> Bool {
    samples.allSatisfy { ProcessSample(of: $0.pid)?.reapedTicks == $0.reapedTicks }
  }

  private static let tick: Duration = .nanoseconds(1_000_000_000 / max(1, Int64(sysconf(Int32(_SC_CLK_TCK)))))
  private static let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))
}

/// The processor time of a process and its descendants, which is asked for again and again. To find the descendants
/// takes most of the time, so they are looked for only now and then, and always while their number may grow.
package final class ProcessTree: Sendable {
  private let root: Int32
  private let state = Mutex(State())

  private struct State {
    var members: [Int32] = []
    var uses = 0
  }

  /// How often the members that were found are used again.
  private static let uses = 30

  package init(root: Int32) { self.root = root }

  /// The user and system time of the process, of its running descendants, and of all processes that these have reaped.
  /// `nil` if there is no such process, or the system does not tell.
  /// - Parameter isGrowing: whether the descendants may start processes now. Otherwise the time of a process that was
  ///   started lately may be missing, until it is reaped or looked for.
  package func cpuTime(isGrowing: Bool) -> Duration? {
    let members = state.withLock { state -> [Int32] in
      guard !isGrowing, state.uses < Self.uses, !state.members.isEmpty else { return [] }
      state.uses += 1
      return state.members
    }
    if let time = ProcessUse.cpuTime(of: members) { return time }
    let found = [root] + ProcessTable.descendants(of: root)
    state.withLock { ($0.members, $0.uses) = (found, 0) }
    return ProcessUse.cpuTime(ofTree: root)
  }
}

/// The use of one process, from the line in `/proc/PID/stat`.
struct ProcessSample: Hashable, Sendable {
  var pid: Int32
  /// User and system time, in clock ticks.
  var ownTicks: UInt64
  /// User and system time of reaped children, and of the children that these had reaped, in clock ticks.
  var reapedTicks: UInt64
  /// Resident memory, in pages.
  var pages: Int64

  init?(of pid: Int32) {
    guard let line = SystemCall.contents(of: "/proc/\(pid)/stat", limit: 4096) else { return nil }
    self.init(stat: line)
  }

  init?(stat line: [UInt8]) {
    guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
      let pid = Int32(String(decoding: line[..<open].dropLast(), as: UTF8.self))
    else { return nil }
    // Field 0 here is the third field of proc_pid_stat(5), the state.
    let fields = line[(close + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 22)
    guard fields.count > 21 else { return nil }
    let numbers = (11...14).compactMap { UInt64(String(decoding: fields[$0], as: UTF8.self)) }
    guard numbers.count == 4, let pages = Int64(String(decoding: fields[21], as: UTF8.self)) else { return nil }
    self.pid = pid
    ownTicks = numbers[0] + numbers[1]
    reapedTicks = numbers[2] + numbers[3]
    self.pages = pages
  }
}
