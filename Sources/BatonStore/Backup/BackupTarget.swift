internal import BatonBase
internal import Synchronization

/// The file that a backup is written to. The file is written under a temporary name (`FILE.part`) and gets its final
/// name after it is complete and synced, so a process that is killed never leaves an incomplete file under the final
/// name.
///
/// A client of the coordinator chooses the path, and the coordinator writes the file with its own user's rights. For
/// that reason a target replaces no file, follows no symbolic link, has a name that ends in `.sqlite` (so that no other
/// program reads the file as its settings), lies outside of the store's own folder, and lies only in folders in which
/// no other user can replace the file.
final class BackupTarget: Sendable {
  static let suffix = ".sqlite"
  static let partSuffix = ".part"
  /// Bytes that must stay free if the target is on the disk of the store.
  static let reserve = 64 << 20

  let path: String
  var partPath: String { path + Self.partSuffix }
  private let name: String
  /// The descriptor of the folder that contains the file. It stays open for the lifetime of this value.
  private let folder: Int32
  /// The descriptor of `FILE.part`. The file is locked, so that a second backup cannot use the same name.
  private let part: Int32
  private let isOnStoresDisk: Bool
  private let isFinished = Mutex(false)

  /// Creates the empty file `FILE.part` with mode 0600. A `FILE.part` that a killed backup left is removed first.
  /// - Parameter store: the folder of the store; `nil` for a store in memory.
  /// - Throws: `.refused` if the path is not permitted, with what is wrong with the path; `.cannotWrite` if the folder
  ///   cannot be opened or written.
  init(_ path: String, store: String?) throws {
    (self.path, name) = (path, try Self.checkedName(path))
    folder = try Self.openFolder(of: path)
    do {
      isOnStoresDisk = try Self.isOnDisk(of: store, folder, path)
      guard Self.facts(name, in: folder) == nil else { throw Self.exists(path) }
      try Self.removeLeftover(name + Self.partSuffix, in: folder, path + Self.partSuffix)
      part = try Self.makePart(name + Self.partSuffix, in: folder, path + Self.partSuffix)
    } catch {
      close(folder)
      throw error
    }
  }

  /// Closes the descriptors, and removes `FILE.part` if the backup was not finished.
  deinit {
    if !isFinished.withLock({ $0 }) { unlinkat(folder, name + Self.partSuffix, 0) }
    close(part)
    close(folder)
  }

  /// Throws `.cannotWrite` unless `bytes` bytes are free on the target's disk. If the store is on the same disk,
  /// `reserve` must stay free in addition.
  func demandRoom(for bytes: Int) throws {
    var facts = statvfs()
    guard fstatvfs(folder, &facts) == 0 else { return }
    let free = Int(
      clamping: UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize)).partialValue)
    let needed = bytes + (isOnStoresDisk ? Self.reserve : 0)
    guard free < needed else { return }
    throw StoreError(
      .cannotWrite,
      """
      \(path): the disk has \(free >> 20) MiB free, and the backup needs \(max(1, needed >> 20)) MiB\
      \(isOnStoresDisk ? ", 64 of them left for the store on the same disk" : ""); make room, or name a file on \
      another disk.
      """)
  }

  /// Syncs what was copied so far to the disk. Regular syncs keep the last sync short, and the store's own syncs do not
  /// have to wait for a large one.
  func sync() throws {
    guard fsync(part) == 0 else { throw Self.failure(path, "the backup cannot be written") }
  }

  /// The size of what was written so far, in bytes.
  var bytes: Int {
    var facts = stat()
    return fstat(part, &facts) == 0 ? Int(facts.st_size) : 0
  }

  /// Syncs the file, gives it its final name, and syncs the folder so that the name is durable.
  /// - Throws: `.refused` if `FILE.part` was removed or replaced in the meantime, or if a file with the final name
  ///   exists by now; `.cannotWrite` if the disk fails.
  func finish() throws {
    try sync()
    var own = stat()
    guard fstat(part, &own) == 0, let there = Self.facts(name + Self.partSuffix, in: folder),
      there.st_ino == own.st_ino, there.st_dev == own.st_dev
    else {
      throw StoreError(
        .refused,
        "\(partPath) was removed or replaced while the backup was written, so the backup was discarded; try again.")
    }
    try giveName()
    isFinished.withLock { $0 = true }
    guard fsync(folder) == 0 else { throw Self.failure(path, "the folder of the backup cannot be synced") }
  }

  /// Uses a hard link, which fails if the name exists, where a rename would replace the file. File systems without hard
  /// links (vfat) get a rename.
  private func giveName() throws {
    if linkat(folder, name + Self.partSuffix, folder, name, 0) == 0 {
      unlinkat(folder, name + Self.partSuffix, 0)
      return
    }
    guard errno != EEXIST, Self.facts(name, in: folder) == nil else { throw Self.exists(path) }
    guard renameat(folder, name + Self.partSuffix, folder, name) == 0 else {
      throw Self.failure(path, "the backup cannot get its name")
    }
  }
}

extension BackupTarget {
  /// The last component of `path`. Throws `.refused` unless the path is absolute, has no empty component, no `.` or
  /// `..` and no control character, and ends in a permitted name.
  private static func checkedName(_ path: String) throws -> String {
    func refused(_ why: String) -> StoreError {
      StoreError(.refused, "'\(path.debugDescription.dropFirst().dropLast())' cannot be the path of a backup: \(why).")
    }
    guard path.utf8.count < 1024 else { throw refused("it has 1,024 bytes or more") }
    guard path.hasPrefix("/") else { throw refused("it has to be absolute") }
    guard !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw refused("it has control characters") }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard let name = parts.last, !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
      throw refused("it has an empty part, '.' or '..'")
    }
    guard name.hasSuffix(suffix), name.utf8.count > suffix.utf8.count, !name.hasPrefix(".") else {
      throw refused("the name has to end in '\(suffix)' and must not begin with a dot")
    }
    return String(name)
  }

  /// Opens each folder from `/` down to the target's folder without following a symbolic link, and checks that other
  /// users cannot replace files in it.
  private static func openFolder(of path: String) throws -> Int32 {
    var folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    var reached = ""
    for part in path.split(separator: "/").dropLast() {
      let next = openat(folder, String(part), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      let code = errno
      let isLink = facts(String(part), in: folder).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
      close(folder)
      reached += "/" + part
      if isLink {
        if next >= 0 { close(next) }
        throw StoreError(
          .refused, "\(reached) is a symbolic link, which a backup does not follow; name the folder that it leads to.")
      }
      guard next >= 0 else {
        errno = code
        throw failure(reached, "the folder of the backup cannot be opened")
      }
      folder = next
      do {
        try demandTrust(in: folder, reached)
      } catch {
        close(folder)
        throw error
      }
    }
    return folder
  }

  /// Throws `.refused` if the folder belongs to another user, or if other users may write to it and it has no sticky
  /// bit: they could replace the file by a link.
  private static func demandTrust(in folder: Int32, _ path: String) throws {
    var facts = stat()
    guard fstat(folder, &facts) == 0 else { throw failure(path, "the folder of the backup cannot be examined") }
    let isOwn = facts.st_uid == 0 || facts.st_uid == geteuid()
    let isClosed = facts.st_mode & (S_IWGRP | S_IWOTH) == 0 || facts.st_mode & S_ISVTX != 0
    guard !isOwn || !isClosed else { return }
    throw StoreError(
      .refused,
      """
      \(isOwn ? "Other users may write to \(path)" : "\(path) belongs to another user"), who could replace the backup \
      by a link; \
      \(isOwn ? "remove that permission (chmod go-w), or set its sticky bit (chmod +t)" : "name a folder of this user").
      """)
  }

  /// Whether the target's folder is on the disk of the store. Throws `.refused` if it is the store's own folder.
  private static func isOnDisk(of store: String?, _ folder: Int32, _ path: String) throws -> Bool {
    guard let store else { return false }
    var (own, its) = (stat(), stat())
    guard fstat(folder, &own) == 0, stat(store, &its) == 0 else { return false }
    guard own.st_dev == its.st_dev else { return false }
    guard own.st_ino != its.st_ino else {
      throw StoreError(.refused, "\(path) lies in the store's own folder; name a file elsewhere, best on another disk.")
    }
    return true
  }

  /// The facts of the file of this name; `nil` if there is no such file. A symbolic link is not followed.
  private static func facts(_ name: String, in folder: Int32) -> stat? {
    var facts = stat()
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts : nil
  }

  /// Removes a `FILE.part` that an earlier backup left. Throws `.refused` if it is not a plain file of this user, or if
  /// another backup is writing it.
  private static func removeLeftover(_ name: String, in folder: Int32, _ path: String) throws {
    guard let facts = facts(name, in: folder) else { return }
    guard facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(), facts.st_nlink == 1 else {
      throw StoreError(.refused, "\(path) already exists and was not left by a backup of this user; remove it.")
    }
    let file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw failure(path, "the file of an earlier backup cannot be opened") }
    defer { close(file) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      throw StoreError(.refused, "\(path) is being written by another backup; wait for its end.")
    }
    guard unlinkat(folder, name, 0) == 0 else { throw failure(path, "the file of an earlier backup cannot be removed") }
  }

  private static func makePart(_ name: String, in folder: Int32, _ path: String) throws -> Int32 {
    let file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(path, "the backup cannot be made") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(file) }
      throw failure(path, "the backup cannot be locked")
    }
    return file
  }

  private static func exists(_ path: String) -> StoreError {
    StoreError(.refused, "\(path) already exists, and a backup never overwrites a file; name another file.")
  }

  private static func failure(_ path: String, _ what: String) -> StoreError {
    let code = errno
    let remedy =
      switch code {
      case ENOSPC, EDQUOT: "make room on its disk, or name a file on another one"
      case EROFS: "its disk is mounted read-only, or the service may not write there; name another file"
      case ENOENT: "make the folder first"
      default: "check its owner and mode, or name another file"
      }
    return StoreError(.cannotWrite, "\(path): \(what) (\(String(cString: strerror(code)))); \(remedy).")
  }
}
