import BatonBase
import CBatonProcess

/// A folder that is used by its descriptor. It stays the same folder even if a command renames or removes it, or puts a
/// symbolic link in its place.
package struct OpenFolder: Sendable {
  private let file: OpenFile
  let path: String

  /// Makes the folder and opens it. Throws `SystemError` if something with this name exists.
  package init(making path: String) throws {
    guard mkdir(path, 0o700) == 0 else { throw SystemCall.failure("cannot make the folder", path) }
    file = OpenFile(try SystemCall.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    self.path = path
  }

  /// Opens an existing folder. Throws `SystemError` if the path is a symbolic link.
  init(itself path: String) throws {
    file = OpenFile(try SystemCall.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    self.path = path
  }

  /// Opens an existing folder.
  /// - Parameter path: followed if it is a symbolic link.
  package init(at path: String) throws {
    file = OpenFile(try SystemCall.open(path, O_RDONLY | O_DIRECTORY))
    self.path = path
  }

  package var descriptor: Int32 { file.descriptor }

  /// Whether this folder is as `init(making:)` and `makeFolder` make it, with nothing but these folders in it, which
  /// are empty. The answer is always `false` on macOS.
  func isPristine(with folders: [String]) -> Bool {
    isPristine(descriptor, folders)
      && folders.allSatisfy { name in
        let folder = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        return folder >= 0 && isPristine(folder, [])
      }
  }

  private func isPristine(_ folder: Int32, _ names: [String]) -> Bool {
    let list: [UnsafePointer<CChar>?] = names.map { UnsafePointer(strdup($0)) }
    defer { for name in list { free(UnsafeMutablePointer(mutating: name)) } }
    return baton_is_pristine(folder, list, Int32(list.count)) != 0
  }

  /// Whether the folder is still at its path.
  var isInPlace: Bool { baton_is_at(descriptor, path) != 0 }

  package func makeFolder(_ name: String) throws {
    guard mkdirat(descriptor, name, 0o700) == 0 else { throw SystemCall.failure("cannot make the folder", place(name)) }
  }

  /// Lets the group look into this folder, and gives it the folder.
  package func admit(group: UInt32) throws {
    guard fchown(descriptor, uid_t.max, group) == 0, fchmod(descriptor, 0o750) == 0 else {
      throw SystemCall.failure("cannot give to a group the folder", path)
    }
  }

  /// Makes the user the owner of a folder in this one. A link is not followed.
  package func give(_ name: String, to user: UInt32, _ group: UInt32) throws {
    guard fchownat(descriptor, name, user, group, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw SystemCall.failure("cannot give to a user the folder", place(name))
    }
  }

  /// Writes a new file that only this user can read, and `reader`, if it is the group of other users. It replaces
  /// anything that has the same name; a symbolic link is replaced, not followed.
  ///  Other processes can see the file before it is complete. Use `replace` if a process may read it at any time.
  package func write(_ bytes: [UInt8], to name: String, reader: UInt32? = nil) throws {
    unlinkat(descriptor, name, 0)
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemCall.failure("cannot make the file", place(name)) }
    defer { close(file) }
    if let reader, fchown(file, uid_t.max, reader) != 0 || fchmod(file, 0o640) != 0 {
      throw SystemCall.failure("cannot give to a group the file", place(name))
    }
    try SystemCall.write(bytes, to: file, path: place(name))
  }

  /// Like `write`, but the file appears only when it is complete.
  package func replace(_ name: String, with bytes: [UInt8], reader: UInt32? = nil) throws {
    try write(bytes, to: name + ".part", reader: reader)
    guard renameat(descriptor, name + ".part", descriptor, name) == 0 else {
      throw SystemCall.failure("cannot make the file", place(name))
    }
  }

  /// - Returns: `false` if the name is not removed, for example because it is a folder.
  package func removeFile(_ name: String) -> Bool { unlinkat(descriptor, name, 0) == 0 || errno == ENOENT }
  package func removeEmptyFolder(_ name: String) -> Bool {
    unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT
  }

  /// Removes the folder with everything in it, even if it was renamed.
  package func remove() {
    FolderRemoval.empty(descriptor)
    if rmdir(path) == 0 { return }
    // Whatever has taken the folder's place is removed too: a link, or a folder of a command.
    if let parent = path.lastIndex(of: "/"), let folder = try? OpenFolder(at: String(path[..<parent]) + "/") {
      FolderRemoval.remove(String(path[path.index(after: parent)...]), in: folder.descriptor)
    }
    if let moved = SystemCall.path(of: descriptor), moved != path { rmdir(moved) }
  }

  private func place(_ name: String) -> String { path + "/" + name }
}
