internal import BatonBase

/// Identifies the file that a path leads to at the moment of the call, by its device and inode. `StoreFolder` uses it
/// to notice that a file was removed or replaced.
struct FileIdentity: Sendable {
  private let device: UInt64
  private let inode: UInt64
  /// The number of hard links (names) of the file.
  let names: Int
  let bytes: Int

  /// `nil` if there is no such file, or if the file's facts cannot be read.
  init?(of path: String) {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: facts.st_dev)
    inode = UInt64(truncatingIfNeeded: facts.st_ino)
    names = Int(facts.st_nlink)
    bytes = Int(facts.st_size)
  }

  func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
}
