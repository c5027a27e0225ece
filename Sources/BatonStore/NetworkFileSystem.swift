#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// File systems on which several machines, or a host and its virtual machine, see one file: memory shared between
/// processes, and so SQLite's write-ahead log, does not work there, and `flock` may not.
enum NetworkFileSystem {
  /// What the folder at `path` is on, nil for a local file system.
  static func kind(of path: String) -> String? {
    #if canImport(Darwin)
      var facts = statfs()
      guard statfs(path, &facts) == 0, facts.f_flags & UInt32(MNT_LOCAL) == 0 else { return nil }
      return withUnsafeBytes(of: facts.f_fstypename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    #else
      guard let resolved = realpath(path, nil) else { return nil }
      defer { free(resolved) }
      return kind(of: String(cString: resolved), mounts: contents(of: "/proc/self/mountinfo"))
    #endif
  }

  /// - Parameter mounts: as `proc_pid_mountinfo(5)` has it; of two mounts at one place the later one counts.
  static func kind(of path: String, mounts: String) -> String? {
    var best: (place: Substring, kind: Substring) = ("", "")
    for line in mounts.split(separator: "\n") {
      let halves = line.split(separator: " - ", maxSplits: 1)
      let fields = halves[0].split(separator: " ")
      guard halves.count == 2, fields.count > 4, let kind = halves[1].split(separator: " ").first else { continue }
      let place = fields[4]
      let contains = place == "/" || path == place || path.hasPrefix(place + "/")
      if contains, place.utf8.count >= best.place.utf8.count { best = (place, kind) }
    }
    return isShared(best.kind) ? String(best.kind) : nil
  }

  private static func isShared(_ kind: Substring) -> Bool {
    if kind.hasPrefix("fuse.") { return kind != "fuse.fuse-overlayfs" }
    return [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gpfs", "glusterfs", "ocfs2",
      "gfs2", "fuse", "vboxsf",
    ].contains(kind)
  }

  private static func contents(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while case let count = read(file, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
