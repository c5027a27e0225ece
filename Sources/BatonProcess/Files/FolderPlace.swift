import BatonBase

/// A folder, and the path at which it was found. The descriptor keeps the folder's inode from being used again.
package struct FolderPlace: Sendable {
  /// The path without symbolic links.
  package let path: String
  private let folder: OpenFile
  private let identity: [UInt64]

  /// Opens the folder; `nil` if there is none at `path`, or if it cannot be opened.
  package init?(_ path: String) {
    guard let real = SystemCall.realPath(of: path), let descriptor = try? SystemCall.open(real, O_RDONLY | O_DIRECTORY)
    else { return nil }
    folder = OpenFile(descriptor)
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return nil }
    (self.path, identity) = (real, Self.identity(facts))
  }

  /// Whether the path still leads to the folder, and through no symbolic link.
  package var isUnchanged: Bool {
    var facts = stat()
    return SystemCall.realPath(of: path) == path && stat(path, &facts) == 0 && Self.identity(facts) == identity
  }

  private static func identity(_ facts: stat) -> [UInt64] {
    [UInt64(truncatingIfNeeded: facts.st_dev), UInt64(truncatingIfNeeded: facts.st_ino)]
  }
}
