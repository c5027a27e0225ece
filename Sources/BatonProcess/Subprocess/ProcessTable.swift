import BatonBase

/// An entry of the system's process table. Process ids are used again, so a process is identified by its id and its
/// start time together.
struct ProcessEntry: Hashable, Sendable {
  var pid: Int32
  var parent: Int32
  var group: Int32
  var session: Int32
  /// The process has ended, and its parent has not reaped it yet.
  var isZombie: Bool
  /// In clock ticks since the host started.
  var startTime: UInt64
  /// `false` for a kernel thread, and for a process that has ended.
  var hasMemory = true
  /// `false` while the process is in `execve`, when it has left its old program and does not have its new environment
  /// yet. Also `false` if this process may not read the value.
  var hasEnvironment = true

  /// Parses the text of `/proc/PID/stat` (proc(5)). The program's name in it may contain spaces and parentheses.
  init?(stat line: [UInt8]) {
    guard let open = line.firstIndex(of: UInt8(ascii: "(")), let close = line.lastIndex(of: UInt8(ascii: ")")),
      let pid = Int32(String(decoding: line[..<open].dropLast(), as: UTF8.self))
    else { return nil }
    let fields = line[(close + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    guard fields.count > 19, let parent = Int32(fields[1]), let group = Int32(fields[2]),
      let session = Int32(fields[3]), let startTime = UInt64(fields[19])
    else { return nil }
    self.pid = pid
    self.parent = parent
    self.group = group
    self.session = session
    isZombie = fields[0] == "Z" || fields[0] == "X"
    self.startTime = startTime
    // Fields 23 (vsize) and 51 (env_end) of proc_pid_stat(5); the state is field 3.
    if fields.count > 20 { hasMemory = fields[20] != "0" }
    if fields.count > 48 { hasEnvironment = fields[48] != "0" }
  }
}

/// Reads the system's process table from `/proc`. On a system without `/proc` (macOS) all answers are empty; a command
/// is then killed by its process group only.
enum ProcessTable {
  /// - Returns: `nil` if there is no such process.
  static func entry(of pid: Int32) -> ProcessEntry? {
    SystemCall.contents(of: "/proc/\(pid)/stat").flatMap { ProcessEntry(stat: $0) }
  }

  /// All processes that this process may see.
  static func all() -> [ProcessEntry] { pids(in: "/proc").compactMap(entry) }

  /// The children of this process, including adopted orphans.
  static func children() -> [ProcessEntry] { children(of: getpid()).compactMap(entry) }

  /// The children of a process. `/proc/PID/task/TID/children` lists them for each thread. On a kernel without these
  /// files, the whole process table is read.
  static func children(of pid: Int32) -> [Int32] {
    guard hasChildrenFiles else { return all().filter { $0.parent == pid }.map(\.pid) }
    return pids(in: "/proc/\(pid)/task").flatMap { thread in
      childrenList("/proc/\(pid)/task/\(thread)/children") ?? []
    }
  }

  private static func childrenList(_ file: String) -> [Int32]? {
    SystemCall.contents(of: file)?.split(separator: UInt8(ascii: " "))
      .compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
  }

  /// The children of this process among which all adopted orphans are; `nil` if the system does not tell. A process
  /// adopts an orphan as the child of its first thread that is alive (find_alive_thread in the kernel's exit.c), and so
  /// the children of two threads are enough: the main thread may have ended.
  static func adopted() -> [Int32]? {
    guard hasChildrenFiles else { return nil }
    var children: [Int32] = []
    for thread in pids(in: "/proc/self/task").prefix(2) {
      guard let list = childrenList("/proc/self/task/\(thread)/children") else { return nil }
      children += list
    }
    return children
  }

  private static let hasChildrenFiles = SystemCall.contents(of: "/proc/self/task/\(getpid())/children") != nil

  /// The children of a process, their children, and so on. Each process comes before its own children.
  static func descendants(of pid: Int32) -> [Int32] {
    if hasChildrenFiles { return descendants(of: pid, childrenOf: children) }
    let byParent = Dictionary(grouping: all(), by: \.parent)
    return descendants(of: pid) { byParent[$0]?.map(\.pid) ?? [] }
  }

  static func descendants(of pid: Int32, childrenOf: (Int32) -> [Int32]) -> [Int32] {
    var found = childrenOf(pid)
    var next = 0
    while next < found.count, found.count < limit {
      found += childrenOf(found[next])
      next += 1
    }
    return found
  }

  /// The leader of a process group, its descendants, and the adopted orphans in its group with their descendants. The
  /// leader comes first.
  static func family(of leader: Int32) -> [Int32] {
    let adopted = children().filter { $0.group == leader && $0.pid != leader }.map(\.pid)
    return [leader] + descendants(of: leader) + adopted.flatMap { [$0] + descendants(of: $0) }
  }

  /// The largest number of descendants. Without it, a tree that grows as fast as it is read would never end.
  private static let limit = 100_000

  private static func pids(in folder: String) -> [Int32] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var pids: [Int32] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if let pid = Int32(name) { pids.append(pid) }
    }
    return pids
  }
}
