#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Which file a path leads to now.
struct FileIdentity: Sendable {
  private let device: UInt64
  private let inode: UInt64
  /// Names (hard links) that it has.
  let names: Int
  let bytes: Int

  /// Nil if nothing is there, or it cannot be looked at.
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
