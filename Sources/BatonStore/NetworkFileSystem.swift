internal import BatonBase

/// Recognizes file systems on which several machines, or a host and its virtual machine, see the same file. SQLite's
/// write-ahead log needs memory that processes share, which such a file system does not provide, and `flock` may not
/// work there.
enum NetworkFileSystem {
  /// The kind of the network file system that `path` is on, such as `nfs4`; `nil` for a local file system, or if the
  /// system does not say.
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

  static func kind(of path: String, mounts: String) -> String? {
    MountedFileSystem(of: path, mounts: mounts).flatMap { $0.isShared ? $0.kind : nil }
  }

  /// Whether a file system of this kind may be shared by several machines. Every FUSE file system counts as shared
  /// except `fuse-overlayfs`, which is local.
  static func isShared(_ kind: String) -> Bool {
    if kind.hasPrefix("fuse.") { return kind != "fuse.fuse-overlayfs" }
    return [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "lustre", "gpfs", "glusterfs", "ocfs2",
      "gfs2", "fuse", "vboxsf",
    ].contains(kind)
  }

  fileprivate static func contents(of path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while case let count = read(file, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The file system that is mounted where a path is. `baton doctor` shows it.
package struct MountedFileSystem: Hashable, Sendable {
  /// The type of the file system, for example `ext4`.
  package let kind: String
  /// The mounted device as the kernel names it, for example `/dev/sda1`.
  package let device: String
  /// The options of the mount, followed by those of the file system.
  package let options: [String]
  /// Whether other machines may see the same files. A store cannot be kept on such a file system.
  package var isShared: Bool { NetworkFileSystem.isShared(kind) }

  package init(kind: String, device: String, options: [String] = []) {
    self.kind = kind
    self.device = device
    self.options = options
  }

  /// `nil` if the path does not exist, or if the system does not say what is mounted there (macOS).
  package init?(of path: String) {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    self.init(of: String(cString: resolved), mounts: NetworkFileSystem.contents(of: "/proc/self/mountinfo"))
  }

  /// - Parameter mounts: the text of `/proc/PID/mountinfo` (`proc_pid_mountinfo(5)`). If two file systems are mounted
  ///   at one place, the later line counts.
  init?(of path: String, mounts: String) {
    var best: (place: Substring, found: MountedFileSystem)?
    for line in mounts.split(separator: "\n") {
      let halves = line.split(separator: " - ", maxSplits: 1)
      let fields = halves[0].split(separator: " ")
      guard halves.count == 2, fields.count > 5 else { continue }
      let rest = halves[1].split(separator: " ", maxSplits: 2).map(String.init)
      let place = fields[4]
      let contains = place == "/" || path == place || path.hasPrefix(place + "/")
      guard contains, let kind = rest.first, place.utf8.count >= (best?.place.utf8.count ?? 0) else { continue }
      let options = (fields[5].split(separator: ",") + (rest.count > 2 ? rest[2].split(separator: ",") : [])).map(
        String.init)
      best = (place, MountedFileSystem(kind: kind, device: rest.count > 1 ? rest[1] : "", options: options))
    }
    guard let best else { return nil }
    self = best.found
  }
}
