internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// The folder of a store on disk, held for life by this process: a lock file keeps every other one out (promise P11).
final class StoreFolder: Sendable {
  let path: String
  /// Nil once it was given free.
  private let lock: Mutex<Int32?>

  var databasePath: String { path + "/" + Self.databaseName }
  static let databaseName = "baton.sqlite"
  static let lockName = "baton.lock"

  /// Makes the folder (mode 0700) and an empty database (mode 0600) if they are not there, and locks them.
  init(_ path: String) throws {
    self.path = path
    try Self.makeFolder(path)
    try Self.refuseNetwork(path)
    lock = Mutex(try Self.lock(path))
    try Self.makeFile(path + "/" + Self.databaseName)
  }

  deinit { release() }

  /// Of the database and its log.
  var databaseBytes: Int {
    [databasePath, databasePath + "-wal"].reduce(0) { sum, path in
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return sum }
      defer { close(file) }
      return sum + Int(lseek(file, 0, SEEK_END))
    }
  }

  /// Gives the folder free. The database must be closed before.
  func release() {
    lock.withLock { file in
      if let open = file {
        // Closing is not enough: a child that is just being started has a copy until it runs its program.
        flock(open, LOCK_UN)
        close(open)
      }
      file = nil
    }
  }

  private static func makeFolder(_ path: String) throws {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: true) {
      made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
      guard mkdir(made, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
      let failure = cannotWrite(made, "the folder cannot be made")
      if access(made, F_OK) != 0 { throw failure }
    }
    guard access(path, W_OK | X_OK) == 0 else { throw cannotWrite(path, "the folder cannot be written") }
  }

  private static func makeFile(_ path: String) throws {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw cannotWrite(path, "the database cannot be opened for writing") }
    close(file)
  }

  /// SQLite's log in shared memory and `flock` are not to be trusted there.
  private static func refuseNetwork(_ path: String) throws {
    guard let kind = NetworkFileSystem.kind(of: path) else { return }
    throw StoreError(
      .refused,
      "\(path) is on a file system of kind \(kind); a store needs a local disk, so give Baton a folder on one (--data)."
    )
  }

  private static func lock(_ path: String) throws -> Int32 {
    let file = open(path + "/" + lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw cannotWrite(path + "/" + lockName, "the lock file cannot be opened") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(file) }
      throw StoreError(
        .locked,
        """
        The store in \(path) is in use by process \(holder(of: file)); stop that one first, or give this one a \
        folder of its own (--data).
        """)
    }
    let text = "\(getpid())\n"
    guard ftruncate(file, 0) == 0, pwrite(file, text, text.utf8.count, 0) == text.utf8.count else {
      defer { close(file) }
      throw cannotWrite(path + "/" + lockName, "the lock file cannot be written")
    }
    return file
  }

  private static func holder(of file: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = pread(file, &bytes, bytes.count, 0)
    let digits = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    return digits.isEmpty ? "(unknown)" : String(decoding: digits, as: UTF8.self)
  }

  private static func cannotWrite(_ path: String, _ what: String) -> StoreError {
    let code = errno
    let remedy =
      switch code {
      case ENOSPC, EDQUOT: "make room on its disk"
      case EROFS: "its disk is mounted read-only; give Baton another folder (--data)"
      default: "check its owner and mode, or give Baton another folder (--data)"
      }
    return StoreError(.cannotWrite, "\(path): \(what) (\(String(cString: strerror(code)))); \(remedy).")
  }
}
