internal import BatonBase
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The lock of a coordinator's data folder whose store is elsewhere. The folder has the fleet's authority and keys, and
/// one coordinator at a time may use it.
final class DataFolderLock: Sendable {
  let path: String
  private let file: Mutex<Int32?>

  /// Makes the folder (mode 0700) if there is none, and locks it.
  /// - Throws: `.locked` if another process holds the lock; `.cannotWrite`.
  init(_ path: String) throws {
    self.path = path
    try StoreFolder.makeFolder(path)
    file = Mutex(try StoreFolder.lock(path))
  }

  deinit { release() }

  func release() {
    file.withLock { file in
      if let open = file {
        flock(open, LOCK_UN)
        close(open)
      }
      file = nil
    }
  }
}
