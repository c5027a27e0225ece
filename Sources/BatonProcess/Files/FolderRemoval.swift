import BatonBase

/// Removes folders with everything that commands have put into them, including folders without permissions and trees
/// that are deeper than the longest path. Symbolic links are removed and never followed, because each name is looked up
/// relative to the open descriptor of its folder.
package enum FolderRemoval {
  /// Removes the file or folder `name` in the folder `parent`.
  /// - Returns: `false` if something is left, for example on a read-only file system.
  @discardableResult
  package static func remove(_ name: String, in parent: Int32) -> Bool {
    if unlinkat(parent, name, 0) == 0 || errno == ENOENT { return true }
    guard let folder = open(Array(name.utf8CString), in: parent) else { return false }
    empty(folder.descriptor)
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT
  }

  /// Removes the content of a folder.
  /// - Parameter folder: the folder's descriptor.
  /// - Returns: how many times the folder was listed: once, unless it is deeper than `maximumDepth`.
  @discardableResult
  package static func empty(_ folder: Int32) -> Int {
    _ = fchmod(folder, 0o700)
    // Folders below the maximum depth are moved up to this folder, and removed in the next round.
    for round in 0..<maximumRounds {
      if empty(folder, top: folder, depth: 0, round: round) { return round + 1 }
    }
    return maximumRounds
  }

  /// How many levels are entered. One descriptor is open for each level.
  private static let maximumDepth = 64
  private static let maximumRounds = 10_000

  /// Removes what is in `folder`. Returns `true` if nothing was moved up, so that another round would not help.
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

  /// Opens a folder itself, never the target of a link. Afterwards this user may read and write the folder.
  private static func open(_ name: [CChar], in parent: Int32) -> OpenFile? {
    // The mode is changed first, because a folder without read permission cannot be opened.
    _ = fchmodat(parent, name, 0o700, AT_SYMLINK_NOFOLLOW)
    let descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    return descriptor < 0 ? nil : OpenFile(descriptor)
  }

  /// The names with the 0 at their ends, byte by byte: they need not be UTF-8.
  private static func names(in folder: Int32) -> [[CChar]] {
    // `openat` makes a new file description. A directory stream changes the read position, which copies of one
    // description share.
    guard let stream = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else { return [] }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
        }
      }
      if ![".", ".."].contains(where: { name.elementsEqual($0.utf8CString) }) { names.append(name) }
    }
    return names
  }
}
