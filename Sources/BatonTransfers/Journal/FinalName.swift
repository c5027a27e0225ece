internal import BatonBase
internal import BatonHost
internal import BatonModel
internal import BatonProcess

/// Gives a complete and synced file its final name. All functions wait for the disk.
enum FinalName {
  /// Why a file cannot get its name.
  enum Problem: Error {
    case taken
    case unwritable(SystemError)
  }

  /// Makes the folders of a target that is in the transfers' own folder. A target elsewhere needs its folder.
  static func prepare(_ target: String, own: Bool) throws(Problem) {
    let folder = FileIdentity.folder(of: target)
    do {
      if own { try SystemCall.makeFolders(folder) }
    } catch {
      throw .unwritable(error as? SystemError ?? SystemError(.failed, "\(error)"))
    }
    guard access(folder, W_OK | X_OK) == 0 else {
      throw .unwritable(SystemCall.failure("cannot write into the folder", folder))
    }
  }

  /// Gives the file at `part` the name `target` in addition, unless something has it. Another call after a crash finds
  /// its own work, because both names are names of one file. The name `part` stays until the journal has the end, so
  /// that there is never a moment in which nothing tells whose file it is.
  ///
  /// On a file system without hard links the file is renamed.
  static func give(_ part: String, _ target: String) throws(Problem) {
    if link(part, target) != 0 {
      switch errno {
      case EEXIST:
        guard let own = FileIdentity(of: part), FileIdentity(of: target) == own else { throw .taken }
      case EPERM, ENOSYS, EOPNOTSUPP, EMLINK: try rename(part, target)
      case _: throw .unwritable(SystemCall.failure("cannot make the file", target))
      }
    }
    do {
      try DurableFile.synchronize(FileIdentity.folder(of: target))
    } catch {
      throw .unwritable(error as? SystemError ?? SystemError(.failed, "\(error)"))
    }
  }

  private static func rename(_ part: String, _ target: String) throws(Problem) {
    guard FileIdentity(of: target) == nil else { throw .taken }
    guard renameFile(part, target) == 0 else { throw .unwritable(SystemCall.failure("cannot make the file", target)) }
  }
}

// Within `FinalName`, its own function has the name of the one of the C library.
private func renameFile(_ old: String, _ new: String) -> Int32 { rename(old, new) }
