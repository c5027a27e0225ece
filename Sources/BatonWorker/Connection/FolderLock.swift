import BatonBase
import BatonProcess

/// Locks a data folder, so that no second worker uses it: a second worker would take the commands of the first for
/// leftovers and kill them. The lock is held as long as this value, or until the process ends.
struct FolderLock: ~Copyable {
  private let file: Int32

  /// Locks the folder. Throws `WorkerError` if it cannot be written, and `SystemError` with `.inUse` if another worker
  /// holds the lock.
  init(folder: String) throws {
    let path = folder + "/worker.lock"
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw WorkerError("the data folder \(folder) cannot be written: \(String(cString: strerror(errno)))")
    }
    guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
      close(file)
      throw SystemError(.inUse, "another worker uses the data folder \(folder): give this one another --data")
    }
  }

  /// What a coordinator keeps in its data folder and a worker does not: the store, or, if the store is on a PostgreSQL
  /// server, only the authority of the fleet.
  private static let filesOfCoordinators = ["baton.sqlite", "authority.pem"]

  /// Throws `WorkerError` if the folder is that of a coordinator.
  static func refuseStore(in folder: String) throws {
    guard filesOfCoordinators.allSatisfy({ access("\(folder)/\($0)", F_OK) != 0 }) else {
      throw WorkerError(
        "the data folder \(folder) is that of a coordinator, and a worker needs one of its own: BATON_DATA means both, "
          + "so give this worker another folder with --data, or with 'data' in its worker.yaml")
    }
  }

  deinit {
    // Closing the file would not be enough: a child that is being started has a copy of the descriptor until it runs
    // its program.
    flock(file, LOCK_UN)
    close(file)
  }
}
