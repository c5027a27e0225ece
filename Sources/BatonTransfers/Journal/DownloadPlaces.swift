internal import BatonBase
internal import BatonProcess

/// Where a download is while it arrives, and where it is to be. Both places are on one file system.
struct DownloadPlaces: Sendable {
  let part: FilePlace
  let target: FilePlace

  /// Whether the file has its final name already: an attempt was ended after it gave the name, and before the journal
  /// had the end. Such a file is complete and checked, and must not be written to.
  var isNamed: Bool { target.identity.map { $0 == part.identity } ?? false }

  /// Whether another file has the final name.
  var isTaken: Bool { target.identity != nil && !isNamed }

  /// Gives the complete and synced file its final name in addition, unless something has it. Another call after a
  /// crash finds its own work, because both names are names of one file. The name of the partial file stays until the
  /// journal has the end, so that there is never a moment in which nothing tells whose file it is. Waits for the disk.
  ///
  /// On a file system without hard links the file is renamed.
  /// - Returns: `false` if another file has the name.
  func giveName() throws(SystemError) -> Bool {
    switch part.link(to: target) {
    case 0: break
    case EEXIST: if !isNamed { return false }
    case EPERM, ENOSYS, EOPNOTSUPP, EMLINK:
      if target.identity != nil { return false }
      try check(part.rename(to: target))
    case let problem: try check(problem)
    }
    try target.synchronizeFolder()
    return true
  }

  private func check(_ problem: Int32) throws(SystemError) {
    guard problem != 0 else { return }
    throw SystemError(
      .failed, "cannot make the file \(target.path): \(SystemCall.explanation(of: problem))", cause: problem)
  }
}
