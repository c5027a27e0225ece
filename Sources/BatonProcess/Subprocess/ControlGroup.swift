import BatonBase
import BatonModel

/// A control group of Linux (cgroup v2): a set of processes that share a quota, together with all processes that they
/// fork.
package struct ControlGroup: Hashable, Sendable {
  /// The group's folder.
  package let path: String

  package init(path: String) { self.path = path }

  /// Opens the folder; `nil` if it is gone.
  func opened() -> OpenFile? { (try? SystemCall.open(path, O_RDONLY | O_DIRECTORY)).map { OpenFile($0) } }

  /// Moves a process with its threads into this group. The result does not matter if the process has ended.
  func add(_ pid: Int32) { _ = ControlGroupFiles.system.write(String(pid), path + "/cgroup.procs") }

  /// Makes a group with this quota inside the worker's own group, which systemd delegates to the worker
  /// (`Delegate=yes`).
  ///
  /// A group that has controllers for its children must not contain processes itself ("no internal processes", kernel
  /// documentation, cgroup-v2). The worker therefore moves to a leaf group `worker` beside the group `limited`. After a
  /// restart by its supervisor, the worker is in that leaf from the start.
  /// - Parameter own: the processes of this worker. No other process is moved.
  static func limited(
    to quota: CPUQuota, for own: Set<Int32>, files: ControlGroupFiles = .system
  ) throws(SystemError) -> ControlGroup {
    let base = try base(files: files)
    let controllers = files.read(base + "/cgroup.controllers") ?? ""
    guard controllers.split(whereSeparator: \.isWhitespace).contains("cpu") else {
      throw SystemError(.noControlGroups, "\(base) has no cpu controller: a systemd unit gets one with 'Delegate=yes'")
    }
    try leave(base, own: own, files: files)
    try write("+cpu", to: base + "/cgroup.subtree_control", files)
    try make(base + "/limited", files)
    try write(quota.cpuMaxText, to: base + "/limited/cpu.max", files)
    return ControlGroup(path: base + "/limited")
  }

  /// The worker's own group: the group that its processes were started in.
  static func base(files: ControlGroupFiles) throws(SystemError) -> String {
    let found = ControlGroupPlace.path(
      cgroup: files.read("/proc/self/cgroup") ?? "", mounts: files.read("/proc/self/mountinfo") ?? "")
    guard let found else {
      throw SystemError(
        .noControlGroups, "this process is in no control group of version 2 (cgroup v2) that it can see")
    }
    return parent(of: found, files: files)
  }

  /// The parent group, if this worker has moved to the leaf `worker` before a restart of its process.
  private static func parent(of path: String, files: ControlGroupFiles) -> String {
    guard path.hasSuffix("/worker") else { return path }
    let parent = String(path.dropLast("/worker".count))
    return files.read(parent + "/limited/cpu.max") == nil ? path : parent
  }

  /// Moves the worker's processes from the group `base` to its leaf `worker`. Throws if other processes are in the
  /// group.
  private static func leave(_ base: String, own: Set<Int32>, files: ControlGroupFiles) throws(SystemError) {
    for _ in 0..<rounds {
      let members = (files.read(base + "/cgroup.procs") ?? "").split(separator: "\n").compactMap { Int32($0) }
      guard !members.isEmpty else { return }
      guard own.isSuperset(of: members) else {
        throw SystemError(
          .noControlGroups,
          "the worker's control group \(base) contains other processes, so the worker cannot divide it")
      }
      try make(base + "/worker", files)
      for pid in members {
        let code = files.write(String(pid), base + "/worker/cgroup.procs")
        guard code == 0 || code == ESRCH else { throw failure("cannot move the worker within \(base)", code) }
      }
    }
  }

  /// How often the group's members are read again, because a process may fork while it is being moved.
  private static let rounds = 10

  private static func make(_ folder: String, _ files: ControlGroupFiles) throws(SystemError) {
    let code = files.makeFolder(folder)
    guard code == 0 || code == EEXIST else {
      throw failure("cannot make \(folder)", code)
    }
  }

  private static func write(_ text: String, to file: String, _ files: ControlGroupFiles) throws(SystemError) {
    let code = files.write(text, file)
    guard code == 0 else {
      throw failure("cannot write '\(text)' to \(file)", code)
    }
  }

  static func failure(_ doing: String, _ code: Int32) -> SystemError {
    SystemError(.noControlGroups, "\(doing): \(SystemCall.explanation(of: code))", cause: code)
  }
}

/// Access to the files of control groups. Tests replace it by a simulated kernel.
struct ControlGroupFiles: Sendable {
  var read: @Sendable (_ path: String) -> String?
  /// Writes to an existing file. Returns 0, or an errno; a file that does not exist is not created.
  var write: @Sendable (_ text: String, _ path: String) -> Int32
  /// Returns 0, or an errno.
  var makeFolder: @Sendable (_ path: String) -> Int32
  /// Returns 0, or an errno.
  var removeFolder: @Sendable (_ path: String) -> Int32 = { rmdir($0) == 0 ? 0 : errno }
  var mayWrite: @Sendable (_ path: String) -> Bool = { access($0, W_OK) == 0 }

  static let system = ControlGroupFiles(
    read: { SystemCall.contents(of: $0).map { String(decoding: $0, as: UTF8.self) } },
    write: { text, path in
      let descriptor = open(path, O_WRONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return errno }
      defer { close(descriptor) }
      return writeBytes(descriptor, text) < 0 ? errno : 0
    }, makeFolder: { mkdir($0, 0o755) == 0 ? 0 : errno })
}

// Within `ControlGroupFiles`, its member `write` shadows write(2).
private func writeBytes(_ descriptor: Int32, _ text: String) -> Int {
  Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}

/// Finds the folder of a process's control group in the file system.
enum ControlGroupPlace {
  /// - Parameters:
  ///   - cgroup: the text of `/proc/PID/cgroup` (cgroups(7)). Its line `0::PATH` is about version 2.
  ///   - mounts: the text of `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
  /// - Returns: `nil` if the system has no version 2, or if the group is outside the mounted part of the hierarchy.
  static func path(cgroup: String, mounts: String) -> String? {
    guard let line = cgroup.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
    let own = String(line.dropFirst(3))
    guard !own.split(separator: "/").contains("..") else { return nil }
    return mounts.split(separator: "\n").lazy.compactMap { mount(String($0)) }.compactMap { mount in
      rest(of: own, below: mount.root).map { mount.point == "/" ? $0 : mount.point + $0 }
    }.first
  }

  private static func mount(_ line: String) -> (root: String, point: String)? {
    let words = line.split(separator: " ").map(String.init)
    guard let dash = words.firstIndex(of: "-"), dash >= 6, dash + 1 < words.count, words[dash + 1] == "cgroup2" else {
      return nil
    }
    return (unescaped(words[3]), unescaped(words[4]))
  }

  /// The part of `path` below `root`, with its leading slash. Empty for the root itself.
  private static func rest(of path: String, below root: String) -> String? {
    if root == "/" { return path == "/" ? "" : path }
    if path == root { return "" }
    return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : nil
  }

  /// Decodes octal escapes: `\040` is a space.
  private static func unescaped(_ text: String) -> String {
    let parts = text.split(separator: "\\", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(String(parts[0])) { result, part in
      guard part.count >= 3, let code = UInt8(part.prefix(3), radix: 8) else { return result + "\\" + part }
      return result + String(UnicodeScalar(code)) + part.dropFirst(3)
    }
  }
}
