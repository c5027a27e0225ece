#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Small files that are there whole or not at all, also after a power loss.
enum DurableFile {
  /// Replaces `path`; durable when it returns. It waits for the disk: not for a thread of Swift's tasks.
  static func write(_ bytes: [UInt8], to path: String) throws {
    let temporary = path + ".new"
    do {
      try SystemCall.write(bytes, to: temporary)
      try synchronize(temporary)
      guard rename(temporary, path) == 0 else { throw SystemCall.failure("cannot replace", path) }
    } catch {
      unlink(temporary)
      throw error
    }
    try synchronize(folder(of: path))
  }

  /// Durably gone when it returns; nothing to do if it was not there.
  static func remove(_ path: String) throws {
    guard unlink(path) == 0 || errno == ENOENT else { throw SystemCall.failure("cannot remove", path) }
    try synchronize(folder(of: path))
  }

  private static func synchronize(_ path: String) throws {
    let descriptor = try SystemCall.open(path, O_RDONLY)
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemCall.failure("cannot make durable", path) }
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }
}
