internal import BatonBase
internal import BatonHost
package import BatonModel
internal import BatonProcess
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What transfers keep on their host, so that a process that was killed at any moment, or a machine that lost its
/// power, goes on where it was.
///
/// `records/` has a file for each transfer, `parts/` the partial files, and `files/` a folder for each request with the
/// files that are complete. A record names only bytes of a partial file that were synced before it was written. The
/// hash of a partial file is not kept: who goes on with it reads it again, and so knows that the hash is that of the
/// bytes on the disk.
///
/// All functions wait for the disk, so they must not run on a thread of Swift's task pool.
package final class TransferJournal: Sendable {
  package let folder: String
  private let lock: OpenFile
  /// How many writes the disk still takes: without a limit, unless a test severs the journal. It is locked during each
  /// write, so that writes come one at a time.
  private let writesLeft: Mutex<Int>

  /// Makes the folder and those in it, with mode 0700.
  /// - Throws: `SystemError` if a folder cannot be made, or another process uses it.
  package init(folder: String) throws {
    // What may throw comes before the first field is set: the optimizer of Swift 6.3.1 cannot undo a mutex.
    let lock = try Self.locked(folder)
    (self.folder, self.lock) = (folder, lock)
    writesLeft = Mutex(.max)
  }

  /// Makes the folders, and locks them against other processes.
  private static func locked(_ folder: String) throws -> OpenFile {
    try SystemCall.makeFolders(folder)
    let lock = OpenFile(try SystemCall.open(folder + "/lock", O_RDWR | O_CREAT))
    guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw SystemError(
        .inUse, "another process has the transfers in \(folder): end it, or choose another data folder", cause: errno)
    }
    for name in ["records", "parts", "files"] { try SystemCall.makeFolders(folder + "/" + name) }
    return lock
  }

  package func record(of key: TransferKey) -> String { "\(folder)/records/\(key.request)-\(key.index).json" }
  private func mark(of key: TransferKey) -> String { "\(folder)/records/\(key.request)-\(key.index).cancelled" }
  private func mark(of request: RequestID) -> String { "\(folder)/records/\(request).released" }
  package func part(of key: TransferKey) -> String { "\(folder)/parts/\(key.request)-\(key.index)" }
  package func files(of request: RequestID) -> String { "\(folder)/files/\(request)" }

  /// Where a downloaded file is to be.
  package func target(of assignment: TransferAssignment) -> String {
    let path = assignment.transfer.to ?? ""
    return path.hasPrefix("/") ? path : files(of: assignment.key.request) + "/" + path
  }

  /// Where the partial file of a download is: on the file system of its target, so that it can get its name at once.
  package func part(of assignment: TransferAssignment) -> String {
    guard let path = assignment.transfer.to, path.hasPrefix("/") else { return part(of: assignment.key) }
    return FileIdentity.folder(of: path) + "/" + partName(of: assignment)
  }

  func partName(of assignment: TransferAssignment) -> String {
    let name = "\(assignment.key.request)-\(assignment.key.index)"
    return assignment.transfer.to?.hasPrefix("/") == true ? ".baton-\(name).part" : name
  }

  // MARK: Writing

  /// Calls `body` unless the journal was severed. Orders and ends of one process come one at a time.
  private func writing(_ body: () throws -> Void) throws {
    try writesLeft.withLock { left in
      guard left > 0 else { throw Self.severed }
      if left != .max { left -= 1 }
      try body()
    }
  }

  package func write(_ record: TransferRecord) throws {
    let bytes = Array(try JSONEncoder().encode(record)) + [UInt8(ascii: "\n")]
    try writing { try DurableFile.write(bytes, to: self.record(of: record.key)) }
  }

  /// Writes that a transfer is to be cancelled. This outlives the process until the transfer has ended.
  package func cancel(_ key: TransferKey) throws { try writing { try DurableFile.write([], to: mark(of: key)) } }

  /// Writes that the files of a request are to be removed.
  package func release(_ request: RequestID) throws {
    try writing { try DurableFile.write([], to: mark(of: request)) }
  }

  /// Forgets a transfer that has ended.
  package func forget(_ key: TransferKey) throws {
    try writing {
      unlink(mark(of: key))
      try DurableFile.remove(record(of: key))
    }
  }

  /// Removes what has arrived of a transfer. A part beside a file with an absolute path may be where this user can
  /// remove nothing, and could write nothing: it does not keep the transfer from ending.
  package func removePart(of assignment: TransferAssignment) throws {
    guard assignment.transfer.method == .get else { return }
    let isElsewhere = assignment.transfer.to?.hasPrefix("/") ?? false
    let harmless = [ENOENT, ENOTDIR] + (isElsewhere ? [EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG] : [])
    try writing {
      if unlink(part(of: assignment)) != 0, !harmless.contains(errno) {
        throw SystemCall.failure("cannot remove", part(of: assignment))
      }
    }
  }

  /// Removes everything of a request, the word that says so last.
  package func remove(_ request: RequestID, _ keys: [TransferKey]) throws {
    try writing {
      for key in keys {
        unlink(part(of: key))
        unlink(mark(of: key))
        unlink(record(of: key))
      }
      let parent = try OpenFolder(at: folder + "/files")
      guard FolderRemoval.remove("\(request)", in: parent.descriptor) else {
        throw SystemCall.failure("cannot remove", files(of: request))
      }
      try DurableFile.remove(mark(of: request))
    }
  }

  /// After some more writes nothing is written or removed any more: for tests, this is how a process looks that was
  /// killed.
  package func sever(afterWrites count: Int = 0) { writesLeft.withLock { $0 = min($0, count) } }

  /// Lets another journal have the folder, as the end of a process does.
  package func letGo() { flock(lock.descriptor, LOCK_UN) }

  /// Whether the journal was severed. Those who write to partial files look here first.
  package var hasBeenSevered: Bool { writesLeft.withLock { $0 == 0 } }

  static let severed = SystemError(.failed, "the journal was severed")
}
