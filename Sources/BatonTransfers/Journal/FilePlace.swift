internal import BatonBase
internal import BatonProcess

/// A name in a folder that was reached without a symbolic link. The folder is used by its descriptor, so that a job
/// that puts a link in the place of a folder leads a transfer nowhere else.
struct FilePlace: Sendable {
  private let folder: OpenFile
  private let name: String
  /// For messages.
  let path: String

  #if os(Linux)
    /// Opens a folder through which a path leads, also one that cannot be listed (`O_PATH`).
    private static let passing: Int32 = 0o10000000
  #else
    private static let passing = O_RDONLY
  #endif

  private init(_ folder: OpenFile, _ name: String, _ path: String) {
    (self.folder, self.name, self.path) = (folder, name, path)
  }

  /// - Parameters:
  ///   - relative: a path without empty names, `.` and `..`.
  ///   - root: a folder. A symbolic link in its own path is followed.
  ///   - makes: whether missing folders below the root are made, with mode 0700.
  init(_ relative: String, below root: String, makes: Bool = false) throws(SystemError) {
    var names = relative.split(separator: "/").map(String.init)
    let name = names.removeLast()
    var path = root == "/" ? "" : root
    var folder = try Self.check(openFolder(AT_FDCWD, root, Self.passing), root)
    for name in names {
      path += "/" + name
      if makes, mkdirat(folder.descriptor, name, 0o700) != 0, errno != EEXIST {
        throw SystemCall.failure("cannot make the folder", path)
      }
      folder = try Self.check(openFolder(folder.descriptor, name, Self.passing | O_NOFOLLOW), path)
    }
    let listed = try Self.check(openFolder(folder.descriptor, ".", O_RDONLY), path.isEmpty ? "/" : path)
    self.init(listed, name, path + "/" + name)
  }

  private static func check(_ descriptor: Int32, _ path: String) throws(SystemError) -> OpenFile {
    if descriptor >= 0 { return OpenFile(descriptor) }
    if errno == ELOOP || errno == ENOTDIR {
      throw SystemError(.failed, "\(path) is no folder, but a file or a symbolic link", cause: errno)
    }
    throw SystemCall.failure("cannot open the folder", path)
  }

  /// The place of another name in the same folder.
  func beside(_ name: String) -> FilePlace {
    FilePlace(folder, name, path[...(path.lastIndex(of: "/") ?? path.startIndex)] + name)
  }

  /// - Throws: `SystemError` if files cannot be made in the folder.
  func demandWritableFolder() throws(SystemError) {
    guard faccessat(folder.descriptor, ".", W_OK | X_OK, 0) == 0 else {
      throw SystemCall.failure("cannot write into the folder of", path)
    }
  }

  /// Opens the file. A file that is made gets mode 0600. A symbolic link is not followed.
  func open(_ flags: Int32) throws(SystemError) -> OpenFile {
    let descriptor = openat(folder.descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemCall.failure("cannot open", path) }
    return OpenFile(descriptor)
  }

  /// Which file has the name; `nil` if none has. A symbolic link is a file of its own.
  var identity: [UInt64]? {
    var facts = stat()
    guard fstatat(folder.descriptor, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    return [UInt64(truncatingIfNeeded: facts.st_dev), UInt64(facts.st_ino)]
  }

  /// Gives the file a second name. Returns 0 or an errno.
  func link(to other: FilePlace) -> Int32 {
    linkat(folder.descriptor, name, other.folder.descriptor, other.name, 0) == 0 ? 0 : errno
  }

  /// Returns 0 or an errno.
  func rename(to other: FilePlace) -> Int32 {
    renameat(folder.descriptor, name, other.folder.descriptor, other.name) == 0 ? 0 : errno
  }

  /// Makes the names in the folder durable. Waits for the disk.
  func synchronizeFolder() throws(SystemError) {
    guard fsync(folder.descriptor) == 0 else { throw SystemCall.failure("cannot make durable the folder of", path) }
  }
}

private func openFolder(_ parent: Int32, _ name: String, _ flags: Int32) -> Int32 {
  openat(parent, name, flags | O_DIRECTORY | O_CLOEXEC)
}
