#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A folder that stays the same one whatever a command does with its path: renames it, removes it, or puts a symbolic
/// link in its place.
struct OpenFolder: Sendable {
  private let file: OpenFile
  let path: String

  /// Makes the folder, which must not be there.
  init(making path: String) throws {
    guard mkdir(path, 0o700) == 0 else { throw SystemCall.failure("cannot make the folder", path) }
    file = OpenFile(try SystemCall.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    self.path = path
  }

  /// - Parameter path: followed if it is a symbolic link.
  init(at path: String) throws {
    file = OpenFile(try SystemCall.open(path, O_RDONLY | O_DIRECTORY))
    self.path = path
  }

  var descriptor: Int32 { file.descriptor }

  func makeFolder(_ name: String) throws {
    guard mkdirat(descriptor, name, 0o700) == 0 else { throw SystemCall.failure("cannot make the folder", place(name)) }
  }

  /// A new file of these bytes, readable by this user only, in the place of what has that name, whatever that is: a
  /// symbolic link is replaced, not followed.
  ///
  /// It appears half written: use `replace` where a process may look at any time.
  func write(_ bytes: [UInt8], to name: String) throws {
    unlinkat(descriptor, name, 0)
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemCall.failure("cannot make the file", place(name)) }
    defer { close(file) }
    try SystemCall.write(bytes, to: file, path: place(name))
  }

  /// The same for a file that appears with everything in it.
  func replace(_ name: String, with bytes: [UInt8]) throws {
    try write(bytes, to: name + ".part")
    guard renameat(descriptor, name + ".part", descriptor, name) == 0 else {
      throw SystemCall.failure("cannot make the file", place(name))
    }
  }

  /// - Returns: false if there is something that cannot be removed this way, as a folder.
  func removeFile(_ name: String) -> Bool { unlinkat(descriptor, name, 0) == 0 || errno == ENOENT }
  func removeEmptyFolder(_ name: String) -> Bool { unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT }

  /// Removes the folder with all that is in it, also if it was renamed meanwhile.
  func remove() {
    FolderRemoval.empty(descriptor)
    if rmdir(path) == 0 { return }
    // What has its place now goes as well: a link, or a folder of a command.
    if let parent = path.lastIndex(of: "/"), let folder = try? OpenFolder(at: String(path[..<parent]) + "/") {
      FolderRemoval.remove(String(path[path.index(after: parent)...]), in: folder.descriptor)
    }
    if let moved = SystemCall.path(of: descriptor), moved != path { rmdir(moved) }
  }

  private func place(_ name: String) -> String { path + "/" + name }
}
