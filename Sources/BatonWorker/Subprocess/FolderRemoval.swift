import CBatonProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Removes folders with all that commands put there: also folders that may not be read or written, and trees that are
/// deeper than a path may be long. Symbolic links are removed, never followed: everything is named below a descriptor of
/// the folder that it is in.
enum FolderRemoval {
  /// False if something is left, as on a file system that is read-only.
  @discardableResult
  static func remove(_ name: String, in parent: Int32) -> Bool {
    if unlinkat(parent, name, 0) == 0 || errno == ENOENT { return true }
    guard let folder = open(name, in: parent) else { return false }
    empty(folder.descriptor)
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT
  }

  /// Removes what is in a folder.
  /// - Parameter folder: its descriptor.
  static func empty(_ folder: Int32) {
    _ = fchmod(folder, 0o700)
    // What is too deep comes up to this folder, and is removed in the next round.
    for round in 0..<maximumRounds where !empty(folder, top: folder, depth: 0, round: round) {}
  }

  /// One descriptor is open per level.
  private static let maximumDepth = 64
  private static let maximumRounds = 10_000

  /// True if nothing more can be done.
  private static func empty(_ folder: Int32, top: Int32, depth: Int, round: Int) -> Bool {
    var isDone = true
    for (index, name) in names(in: folder).enumerated() {
      if unlinkat(folder, name, 0) == 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0 { continue }
      if depth == maximumDepth {
        if renameat(folder, name, top, ".deep-\(round)-\(index)") == 0 { isDone = false }
        continue
      }
      guard let below = open(name, in: folder) else { continue }
      if !empty(below.descriptor, top: top, depth: depth + 1, round: round) { isDone = false }
      unlinkat(folder, name, AT_REMOVEDIR)
    }
    return isDone
  }

  /// The folder itself, never what a link leads to; this user may read and write it afterwards.
  private static func open(_ name: String, in parent: Int32) -> OpenFile? {
    // Before it is opened, or it could not be.
    _ = fchmodat(parent, name, 0o700, AT_SYMLINK_NOFOLLOW)
    let descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    return descriptor < 0 ? nil : OpenFile(descriptor)
  }

  private static func names(in folder: Int32) -> [String] {
    // A description of its own, because a stream moves the position that copies share.
    guard let stream = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
