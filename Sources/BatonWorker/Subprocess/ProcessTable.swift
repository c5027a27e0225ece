#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A process as the system's table has it. Pids are used again; pid and start time together name one process.
struct ProcessEntry: Hashable, Sendable {
  var pid: Int32
  var parent: Int32
  var group: Int32
  var session: Int32
  /// Ended, and waiting for its parent to ask how.
  var isZombie: Bool
  /// In clock ticks since the host started.
  var startTime: UInt64
  /// False for a kernel thread and for a process that has ended.
  var hasMemory = true
  /// False while the process is in `execve`: it has left its old program and does not have its environment yet. Also
  /// false where this process may not ask.
  var hasEnvironment = true

  /// Parses a line of `/proc/PID/stat` (proc(5)). The name in it may contain spaces and parentheses.
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

/// What `/proc` says of processes. Without it (macOS) every question is answered with nothing: there a process group
/// is all that is killed of a command.
enum ProcessTable {
  /// Nil if there is no such process any more.
  static func entry(of pid: Int32) -> ProcessEntry? {
    SystemCall.contents(of: "/proc/\(pid)/stat").flatMap { ProcessEntry(stat: $0) }
  }

  /// Every process that this one may see.
  static func all() -> [ProcessEntry] { pids(in: "/proc").compactMap(entry) }

  /// The children of this process, orphans that it adopted among them.
  static func children() -> [ProcessEntry] { children(of: getpid()).compactMap(entry) }

  /// The children of a process. `/proc/PID/task/TID/children` lists them per thread; a kernel built without it costs a
  /// look at every process.
  static func children(of pid: Int32) -> [Int32] {
    guard hasChildrenFiles else { return all().filter { $0.parent == pid }.map(\.pid) }
    return pids(in: "/proc/\(pid)/task").flatMap { thread in
      let list = SystemCall.contents(of: "/proc/\(pid)/task/\(thread)/children") ?? []
      return list.split(separator: UInt8(ascii: " ")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
    }
  }

  private static let hasChildrenFiles = SystemCall.contents(of: "/proc/self/task/\(getpid())/children") != nil

  /// The children of a process, theirs, and so on: each before its own children.
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

  /// The leader of a process group, its descendants, and what else is in its group: orphans that this process adopted,
  /// with theirs. The leader is first.
  static func family(of leader: Int32) -> [Int32] {
    let adopted = children().filter { $0.group == leader && $0.pid != leader }.map(\.pid)
    return [leader] + descendants(of: leader) + adopted.flatMap { [$0] + descendants(of: $0) }
  }

  /// A tree that grows as fast as it is read must end somewhere.
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
