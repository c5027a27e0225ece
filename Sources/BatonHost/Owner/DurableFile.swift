import BatonBase
import BatonProcess

/// Writes and removes small files so that after a power loss each file is either complete or not there. The owner's
/// pause, the count of today's use and the records of transfers are kept with it.
package enum DurableFile {
  /// Replaces the file at `path`. The new content is durable when this function returns. The function waits for the
  /// disk, so it must not run on a thread of Swift's task pool.
  /// - Throws: `SystemError` if the file cannot be written. The old file then stays, unless the error is about the
  ///   folder.
  package static func write(_ bytes: [UInt8], to path: String) throws {
    let temporary = path + ".new"
    do {
      try SystemCall.write(bytes, to: temporary)
      try synchronize(temporary)
      guard rename(temporary, path) == 0 else { throw SystemCall.failure("cannot replace", path) }
    } catch {
      unlink(temporary)
      throw error
    }
    try synchronize(FileIdentity.folder(of: path))
  }

  /// Removes the file at `path`, if it exists. The removal is durable when this function returns.
  package static func remove(_ path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw SystemCall.failure("cannot remove", path) }
    try synchronize(FileIdentity.folder(of: path))
  }

  /// Makes a file, or the names in a folder, durable. Waits for the disk.
  package static func synchronize(_ path: String) throws {
    let descriptor = try SystemCall.open(path, O_RDONLY)
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemCall.failure("cannot make durable", path) }
  }
}
