#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What processes have used of their host, from `/proc/PID/stat` (proc_pid_stat(5)); without it (macOS) nobody knows.
package struct ProcessUse: Hashable, Sendable {
  /// User and system time, in steps of the kernel's clock tick (10 ms on most hosts).
  package var cpuTime: Duration
  /// Resident memory in bytes. Pages that processes share are counted once for each of them.
  package var memory: Int64

  package init(cpuTime: Duration = .zero, memory: Int64 = 0) {
    self.cpuTime = cpuTime
    self.memory = memory
  }

  static func + (left: Self, right: Self) -> Self {
    ProcessUse(cpuTime: left.cpuTime + right.cpuTime, memory: left.memory + right.memory)
  }

  /// User and system time of a process, of its living descendants, and of all that those have reaped; nil if there is
  /// no such process, or the system does not say.
  ///
  /// The sum does not fall when a child is reaped: its parent takes the child's time over. It loses descendants whose
  /// parent died before them (they get another parent), and children of a process that ignores SIGCHLD (the kernel
  /// forgets their time, wait(2)).
  static func cpuTime(ofTree pid: Int32) -> Duration? { tree(pid)?.cpuTime }

  /// The same with the memory of those that live.
  static func tree(_ pid: Int32) -> ProcessUse? { steady(pid) { ProcessTable.descendants(of: pid) } }

  /// The same with what left the tree and not the process group that `leader` leads, as far as this process adopted it.
  static func family(of leader: Int32) -> ProcessUse? {
    steady(leader) { ProcessTable.family(of: leader).filter { $0 != leader } }
  }

  private static func steady(_ pid: Int32, _ others: () -> [Int32]) -> ProcessUse? {
    var last: [ProcessSample] = []
    for _ in 0..<attempts {
      guard let first = ProcessSample(of: pid) else { return nil }
      last = [first] + others().compactMap { ProcessSample(of: $0) }
      if isSteady(last) { break }
    }
    return sum(last)
  }

  /// A process that reaps a child all the time is never steady: then the last look counts.
  private static let attempts = 4

  private static func sum(_ samples: [ProcessSample]) -> ProcessUse {
    samples.reduce(ProcessUse()) { sum, sample in
      sum + ProcessUse(cpuTime: tick * Int(sample.ownTicks + sample.reapedTicks), memory: sample.pages * pageSize)
    }
  }

  /// A child that was reaped while the tree was read is in it twice, or not at all.
  private static func isSteady(_ samples: [ProcessSample]) -> Bool {
    samples.allSatisfy { ProcessSample(of: $0.pid)?.reapedTicks == $0.reapedTicks }
  }

  private static let tick: Duration = .nanoseconds(1_000_000_000 / max(1, Int64(sysconf(Int32(_SC_CLK_TCK)))))
  private static let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))
}

/// What one line of `/proc/PID/stat` says of a process's use.
struct ProcessSample: Hashable, Sendable {
  var pid: Int32
  /// User and system time, in clock ticks.
  var ownTicks: UInt64
  /// The same of the children it has waited for, and theirs.
  var reapedTicks: UInt64
  /// Resident pages.
  var pages: Int64

  init?(of pid: Int32) {
    guard let line = SystemCall.contents(of: "/proc/\(pid)/stat", limit: 4096) else { return nil }
    self.init(stat: line)
  }

  init?(stat line: [UInt8]) {
    guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
      let pid = Int32(String(decoding: line[..<open].dropLast(), as: UTF8.self))
    else { return nil }
    // Counted from 0 for the third field of proc_pid_stat(5), the state.
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
