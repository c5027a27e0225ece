internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// The file that a backup is written to. It is written under another name (`FILE.part`) and gets its own name when it is
/// whole and synced, so that a process that is killed never leaves half a file under the final name.
///
/// The caller of a coordinator names the file, and the coordinator writes it with its own user's rights. So a target
/// replaces nothing, follows no symbolic link, ends in `.sqlite` (no other program takes such a file for its settings),
/// lies outside of the store's own folder, and only in folders in which no other user can exchange it.
final class BackupTarget: Sendable {
  static let suffix = ".sqlite"
  static let partSuffix = ".part"
  /// Room that stays free on the disk of the store itself, in bytes.
  static let reserve = 64 << 20

  let path: String
  var partPath: String { path + Self.partSuffix }
  private let name: String
  /// Of the folder that the file is in, open for as long as this value lives.
  private let folder: Int32
  /// The file that is being written, locked against a second backup of the same name.
  private let part: Int32
  private let isOnStoresDisk: Bool
  private let isFinished = Mutex(false)

  /// Makes the empty file `FILE.part`, mode 0600. What a backup left there that was killed is removed first.
  /// - Parameter store: the folder of the store; nil in memory.
  /// - Throws: `.refused` with what is wrong with the path, `.cannotWrite` if the folder cannot be written.
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

  /// What was not finished is removed.
  deinit {
    if !isFinished.withLock({ $0 }) { unlinkat(folder, name + Self.partSuffix, 0) }
    close(part)
    close(folder)
  }

  /// Throws `.cannotWrite` unless so many bytes fit, with the reserve where the store is on the same disk.
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

  /// Writes what was copied so far to the disk, so that the last sync is short and the store's own syncs do not wait
  /// for it.
  func sync() throws {
    guard fsync(part) == 0 else { throw Self.failure(path, "the backup cannot be written") }
  }

  /// The size of what was written, in bytes.
  var bytes: Int {
    var facts = stat()
    return fstat(part, &facts) == 0 ? Int(facts.st_size) : 0
  }

  /// Syncs the file, gives it its name, and syncs that.
  func finish() throws {
    try sync()
    var own = stat()
    guard fstat(part, &own) == 0, let there = Self.facts(name + Self.partSuffix, in: folder),
      there.st_ino == own.st_ino, there.st_dev == own.st_dev
    else {
      throw StoreError(.refused, "\(partPath) was removed or replaced while the backup was written; nothing is kept.")
    }
    try giveName()
    isFinished.withLock { $0 = true }
    guard fsync(folder) == 0 else { throw Self.failure(path, "the folder of the backup cannot be synced") }
  }

  /// A link replaces nothing, where a rename would. File systems without links (vfat) get a rename.
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
  /// The last part of the path, which has to be absolute and without `.` and `..`.
  private static func checkedName(_ path: String) throws -> String {
    func refused(_ why: String) -> StoreError {
      StoreError(.refused, "'\(path.debugDescription.dropFirst().dropLast())' cannot be a backup: \(why).")
    }
    guard path.utf8.count < 1024 else { throw refused("the path has 1,024 bytes or more") }
    guard path.hasPrefix("/") else { throw refused("name the file by its whole path, from '/' on") }
    guard !path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw refused("it has control characters") }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    guard let name = parts.last, !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
      throw refused("its path has an empty part, '.' or '..'")
    }
    guard name.hasSuffix(suffix), name.utf8.count > suffix.utf8.count, !name.hasPrefix(".") else {
      throw refused("its name has to end in '\(suffix)', and not to begin with a dot")
    }
    return String(name)
  }

  /// Goes down from `/` without following a symbolic link, and looks at each folder on the way.
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
      try demandTrust(in: folder, reached)
    }
    return folder
  }

  /// In a folder of another user, or one that others may write, the file could be exchanged for a link.
  private static func demandTrust(in folder: Int32, _ path: String) throws {
    var facts = stat()
    guard fstat(folder, &facts) == 0 else { throw failure(path, "the folder of the backup cannot be looked at") }
    let isOwn = facts.st_uid == 0 || facts.st_uid == geteuid()
    let isClosed = facts.st_mode & (S_IWGRP | S_IWOTH) == 0 || facts.st_mode & S_ISVTX != 0
    guard !isOwn || !isClosed else { return }
    defer { close(folder) }
    throw StoreError(
      .refused,
      """
      \(path) \(isOwn ? "may be written by other users" : "belongs to another user"), who could exchange the backup for \
      a link; \(isOwn ? "take that away (chmod go-w), or set its sticky bit (chmod +t)" : "name a folder of this user").
      """)
  }

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

  /// Of what has this name, a symbolic link itself if it is one; nil if there is nothing.
  private static func facts(_ name: String, in folder: Int32) -> stat? {
    var facts = stat()
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts : nil
  }

  private static func removeLeftover(_ name: String, in folder: Int32, _ path: String) throws {
    guard let facts = facts(name, in: folder) else { return }
    guard facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid(), facts.st_nlink == 1 else {
      throw StoreError(.refused, "\(path) is there already, and no backup of this user left it; remove it.")
    }
    let file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw failure(path, "what an earlier backup left cannot be opened") }
    defer { close(file) }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      throw StoreError(.refused, "\(path) is being written by another backup; wait for its end.")
    }
    guard unlinkat(folder, name, 0) == 0 else { throw failure(path, "what an earlier backup left cannot be removed") }
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
    StoreError(.refused, "\(path) is there already, and a backup replaces nothing; name another file.")
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
