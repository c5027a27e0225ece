internal import BatonBase
internal import Synchronization

/// The folder of a store on disk. This process holds a lock file in the folder until the store is closed, which keeps
/// every other process out (promise P11).
///
/// The lock protects the database by whatever path it is reached. A symbolic link is followed to the folder that really
/// contains the database. A database with a second name (a hard link) is refused, because SQLite keeps its log beside
/// the name under which the database was opened.
final class StoreFolder: Sendable {
  /// The folder that really contains the database, after all symbolic links were followed.
  let path: String
  /// The descriptor of the locked file; `nil` after the lock has been released.
  private let lock: Mutex<Int32?>
  /// The files as they were when the folder was locked, to notice a later replacement.
  private let lockFile: FileIdentity
  private let databaseFile: FileIdentity

  var databasePath: String { path + "/" + Self.databaseName }
  private var lockPath: String { path + "/" + Self.lockName }
  static let databaseName = "baton.sqlite"
  static let lockName = "baton.lock"

  /// Creates the folder (mode 0700) and an empty database (mode 0600) if they do not exist, and locks the folder.
  /// - Throws: `.locked` if another process holds the lock; `.refused` on a network file system, or if the database has
  ///   another name or several names; `.cannotWrite` if a file or folder cannot be created or written.
  init(_ given: String) throws {
    try Self.refuseWorkers(given)
    try Self.makeFolder(given)
    try Self.refuseNetwork(given)
    try Self.makeFile(given + "/" + Self.databaseName)
    path = try Self.realFolder(of: given + "/" + Self.databaseName)
    try Self.refuseNetwork(path)
    let file = try Self.lock(path)
    do {
      lockFile = try Self.identity(of: path + "/" + Self.lockName)
      databaseFile = try Self.identity(of: path + "/" + Self.databaseName)
      try Self.refuseSecondName(databaseFile, path + "/" + Self.databaseName)
    } catch {
      close(file)
      throw error
    }
    lock = Mutex(file)
  }

  /// The error that ends this process's right to write: the lock file or the database was removed or replaced, so
  /// another process may have the store open. `nil` as long as both files are in place.
  var loss: StoreError? {
    for (path, file) in [(lockPath, lockFile), (databasePath, databaseFile)]
    where FileIdentity(of: path)?.isSameFile(as: file) != true {
      return StoreError(
        .superseded,
        """
        \(path) was removed or replaced while this coordinator ran, so the coordinator stops without writing anything \
        more. Check the folder, then start the coordinator again.
        """)
    }
    return nil
  }

  /// What `demandRoom` writes, in bytes: more than the store writes at once, except for the largest checkpoints.
  static let roomBytes = 1 << 20
  /// The file that `demandRoom` writes and removes.
  static let roomName = "room-probe"

  /// Writes a file and removes it, and so finds out whether the disk has room. Nothing is synced: a file system
  /// reserves the room when it takes a write.
  /// - Throws: `.cannotWrite`.
  func demandRoom() throws {
    let name = path + "/" + Self.roomName
    let file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Self.cannotWrite(path, "the folder of the store cannot be written") }
    defer {
      unlink(name)
      close(file)
    }
    let zeros = [UInt8](repeating: 0, count: Self.roomBytes)
    var written = 0
    while written < zeros.count {
      let count = zeros.withUnsafeBytes { pwrite(file, $0.baseAddress! + written, $0.count - written, off_t(written)) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.cannotWrite(path, "the disk of the store is full") }
      written += count
    }
  }

  deinit { release() }

  /// The size of the database and its write-ahead log, in bytes.
  var databaseBytes: Int {
    // The files are not opened for this: when a process closes a file, it loses all locks that SQLite holds on the file
    // in this process (fcntl_locking(2)).
    [databasePath, databasePath + "-wal"].reduce(0) { $0 + (FileIdentity(of: $1)?.bytes ?? 0) }
  }

  /// Releases the lock. The database must be closed before.
  func release() {
    lock.withLock { file in
      if let open = file {
        // Closing is not enough: a child process that is just being started has a copy of the descriptor until it
        // executes its program.
        flock(open, LOCK_UN)
        close(open)
      }
      file = nil
    }
  }

  /// Creates the folder and its parents with mode 0700. Throws `.refused` if the path is that of a file, and
  /// `.cannotWrite` if this process cannot write to the folder.
  static func makeFolder(_ path: String) throws {
    var made = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: true) {
      made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + part
      guard mkdir(made, 0o700) != 0, errno != EEXIST, errno != EISDIR else { continue }
      let failure = cannotWrite(made, "the folder cannot be made")
      if access(made, F_OK) != 0 { throw failure }
    }
    var info = stat()
    if stat(path, &info) == 0, info.st_mode & S_IFMT != S_IFDIR {
      throw StoreError(.refused, "\(path) is not a folder; give Baton the path of one (--data).")
    }
    guard access(path, W_OK | X_OK) == 0 else { throw cannotWrite(path, "the folder cannot be written") }
  }

  /// Creates an empty file with mode 0600, unless the file exists.
  private static func makeFile(_ path: String) throws {
    // A file that exists is not opened: closing it would release the locks that SQLite holds on it in this process.
    let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if file >= 0 {
      close(file)
    } else if errno != EEXIST || access(path, W_OK) != 0 {
      throw cannotWrite(path, "the database cannot be opened for writing")
    }
  }

  /// The folder that contains the file, without any symbolic link in its path; a link at the file itself is followed
  /// too.
  private static func realFolder(of file: String) throws -> String {
    guard let resolved = realpath(file, nil) else { throw cannotWrite(file, "the database cannot be found") }
    defer { free(resolved) }
    let path = String(cString: resolved)
    guard path.hasSuffix("/" + databaseName) else {
      throw StoreError(
        .refused,
        "\(file) leads to \(path), which is not called \(databaseName); give Baton the folder itself (--data).")
    }
    let folder = String(path.dropLast(databaseName.utf8.count + 1))
    return folder.isEmpty ? "/" : folder
  }

  private static func identity(of path: String) throws -> FileIdentity {
    guard let found = FileIdentity(of: path) else { throw cannotWrite(path, "the file cannot be examined") }
    return found
  }

  /// Throws `.refused` if the database has several hard links.
  private static func refuseSecondName(_ file: FileIdentity, _ path: String) throws {
    guard file.names > 1 else { return }
    throw StoreError(
      .refused,
      """
      \(path) has \(file.names) names (hard links); changes that are made under one name could be missing under \
      another. Remove the other names; for a backup use 'baton store backup'.
      """)
  }

  /// Throws `.refused` on a network file system, where SQLite's shared-memory log and `flock` do not work reliably.
  private static func refuseNetwork(_ path: String) throws {
    guard let kind = NetworkFileSystem.kind(of: path) else { return }
    throw StoreError(
      .refused,
      "\(path) is on a file system of kind \(kind); a store needs a local disk, so give Baton a folder on one (--data)."
    )
  }

  /// Throws `.refused` if the folder is that of a worker and no store is in it yet.
  private static func refuseWorkers(_ path: String) throws {
    guard access(path + "/worker.lock", F_OK) == 0, access(path + "/" + databaseName, F_OK) != 0 else { return }
    throw StoreError(
      .refused,
      """
      The folder \(path) is that of a worker, and a coordinator needs one of its own: BATON_DATA means both, so give \
      this coordinator another folder with --data, or with 'data' in its coordinator.yaml.
      """)
  }

  /// Locks the lock file of the folder and writes this process's id into it.
  static func lock(_ path: String) throws -> Int32 {
    let file = open(path + "/" + lockName, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw cannotWrite(path + "/" + lockName, "the lock file cannot be opened") }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(file) }
      throw StoreError(
        .locked,
        """
        The store in \(path) is in use by process \(holder(of: file)); stop that process first, or start this \
        coordinator with another folder (--data).
        """)
    }
    let text = "\(getpid())\n"
    guard ftruncate(file, 0) == 0, pwrite(file, text, text.utf8.count, 0) == text.utf8.count else {
      defer { close(file) }
      throw cannotWrite(path + "/" + lockName, "the lock file cannot be written")
    }
    return file
  }

  /// The process id that is written in the lock file.
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
