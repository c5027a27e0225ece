#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Keeps a second worker out of a data folder: it would take the first one's commands for leftovers and kill them.
/// Held for as long as the process lives.
struct FolderLock: ~Copyable {
  private let file: Int32

  init(folder: String) throws {
    let path = folder + "/worker.lock"
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw WorkerError("the data folder \(folder) cannot be written: \(String(cString: strerror(errno)))")
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      throw WorkerError("another worker uses the data folder \(folder): give this one another --data")
    }
  }

  deinit {
    // Closing is not enough: a child that is just being started has a copy until it runs its program.
    flock(file, LOCK_UN)
    close(file)
  }
}
