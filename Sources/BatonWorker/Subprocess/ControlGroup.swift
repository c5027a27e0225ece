#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A control group of Linux (cgroup v2): processes that share a quota, with everything that they fork.
package struct ControlGroup: Hashable, Sendable {
  /// Its folder.
  package let path: String

  package init(path: String) { self.path = path }

  /// Moves a process here, with its threads. One that has ended meanwhile is no matter.
  func add(_ pid: Int32) { _ = ControlGroupFiles.system.write(String(pid), path + "/cgroup.procs") }

  /// Makes a group with this quota in the worker's own, which systemd delegates to it (`Delegate=yes`).
  ///
  /// A group with controllers for its children may hold no process itself ("no internal processes", kernel
  /// documentation, cgroup-v2). So the worker moves to a leaf `worker` beside `limited`, and finds itself there when
  /// its supervisor starts it anew.
  /// - Parameter own: the processes of this worker: they alone may be moved.
  static func limited(
    to quota: CPUQuota, for own: Set<Int32>, files: ControlGroupFiles = .system
  ) throws(ControlGroupError) -> ControlGroup {
    let base = try base(files: files)
    let controllers = files.read(base + "/cgroup.controllers") ?? ""
    guard controllers.split(whereSeparator: \.isWhitespace).contains("cpu") else {
      throw ControlGroupError("\(base) has no cpu controller: a systemd unit gets one with 'Delegate=yes'")
    }
    try leave(base, own: own, files: files)
    try write("+cpu", to: base + "/cgroup.subtree_control", files)
    try make(base + "/limited", files)
    try write(quota.line, to: base + "/limited/cpu.max", files)
    return ControlGroup(path: base + "/limited")
  }

  /// The worker's own group.
  static func base(files: ControlGroupFiles) throws(ControlGroupError) -> String {
    let found = ControlGroupPlace.path(
      cgroup: files.read("/proc/self/cgroup") ?? "", mounts: files.read("/proc/self/mountinfo") ?? "")
    guard let found else { throw ControlGroupError("this host has no control groups (cgroup v2) for it") }
    return parent(of: found, files: files)
  }

  /// The group above, if this worker moved here in an earlier life of its process.
  private static func parent(of path: String, files: ControlGroupFiles) -> String {
    guard path.hasSuffix("/worker") else { return path }
    let parent = String(path.dropLast("/worker".count))
    return files.read(parent + "/limited/cpu.max") == nil ? path : parent
  }

  private static func leave(_ base: String, own: Set<Int32>, files: ControlGroupFiles) throws(ControlGroupError) {
    for _ in 0..<rounds {
      let members = (files.read(base + "/cgroup.procs") ?? "").split(separator: "\n").compactMap { Int32($0) }
      guard !members.isEmpty else { return }
      guard own.isSuperset(of: members) else {
        throw ControlGroupError("other processes are in the worker's control group \(base), and are left alone")
      }
      try make(base + "/worker", files)
      for pid in members {
        let code = files.write(String(pid), base + "/worker/cgroup.procs")
        guard code == 0 || code == ESRCH else { throw ControlGroupError(moving: base, code) }
      }
    }
  }

  /// Whoever is moved may have forked a moment before.
  private static let rounds = 10

  private static func make(_ folder: String, _ files: ControlGroupFiles) throws(ControlGroupError) {
    let code = files.makeFolder(folder)
    guard code == 0 || code == EEXIST else {
      throw ControlGroupError("cannot make \(folder): \(SystemCall.explanation(of: code))")
    }
  }

  private static func write(_ text: String, to file: String, _ files: ControlGroupFiles) throws(ControlGroupError) {
    let code = files.write(text, file)
    guard code == 0 else {
      throw ControlGroupError("cannot write '\(text)' to \(file): \(SystemCall.explanation(of: code))")
    }
  }
}

/// Why there is no control group for commands.
package struct ControlGroupError: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }

  init(moving base: String, _ code: Int32) {
    description = "cannot move the worker within \(base): \(SystemCall.explanation(of: code))"
  }
}

/// The files of control groups; tests bring a kernel of their own.
struct ControlGroupFiles: Sendable {
  var read: @Sendable (_ path: String) -> String?
  /// 0, or an errno. A file that is not there is not made.
  var write: @Sendable (_ text: String, _ path: String) -> Int32
  /// 0, or an errno.
  var makeFolder: @Sendable (_ path: String) -> Int32
  /// 0, or an errno.
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

// Swift's `write` is shadowed by the member above.
private func writeBytes(_ descriptor: Int32, _ text: String) -> Int {
  Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}

/// Where the control group of a process is in the file system.
enum ControlGroupPlace {
  /// - Parameters:
  ///   - cgroup: `/proc/PID/cgroup` (cgroups(7)): its line `0::PATH` is of version 2.
  ///   - mounts: `/proc/PID/mountinfo` (proc_pid_mountinfo(5)).
  /// - Returns: nil if there is no version 2, or its part of the hierarchy cannot be seen from here.
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

  /// With its slash, empty for the root itself.
  private static func rest(of path: String, below root: String) -> String? {
    if root == "/" { return path == "/" ? "" : path }
    if path == root { return "" }
    return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : nil
  }

  /// `\040` is a space.
  private static func unescaped(_ text: String) -> String {
    let parts = text.split(separator: "\\", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(String(parts[0])) { result, part in
      guard part.count >= 3, let code = UInt8(part.prefix(3), radix: 8) else { return result + "\\" + part }
      return result + String(UnicodeScalar(code)) + part.dropFirst(3)
    }
  }
}
