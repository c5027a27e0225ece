import BatonBase
import BatonHost
import BatonModel
import BatonProcess

/// The files of one launch, in a folder below the worker's data folder. The folder is removed when the launch is over.
///
/// Commands may write into the folder. The worker therefore uses the folder's descriptor and never follows a link
/// inside it.
struct LaunchFolder: Sendable {
  let path: String
  private let folder: OpenFolder
  /// The group that may read the files of the launch; `nil` if its command runs as the worker's user.
  private let reader: UInt32?
  /// Where the folder is kept for another launch, if it stays as it was made.
  private let spares: SpareFolders?

  /// Makes the folder. A folder with the same name, left by an earlier worker, is removed first.
  /// - Parameters:
  ///   - path: the folder's path. The folder above it must exist.
  ///   - user: the user as which the command runs; `nil` means the worker's user. Another user gets the two folders in
  ///     which commands write, and may read the rest.
  ///   - spares: has folders that are made already, which other users do not get.
  init(_ path: String, for user: CommandUser? = nil, spares: SpareFolders? = nil) throws {
    self.path = path
    reader = user?.group
    self.spares = user == nil ? spares : nil
    if let spare = self.spares?.take(for: path) {
      folder = spare
      return
    }
    if let end = path.lastIndex(of: "/") {
      let launches = try OpenFolder(at: String(path[...end]))
      FolderRemoval.remove(String(path[path.index(after: end)...]), in: launches.descriptor)
    }
    folder = try OpenFolder(making: path)
    for name in Self.inner {
      try folder.makeFolder(name)
      if let user { try folder.give(name, to: user.id, user.group) }
    }
    if let user { try folder.admit(group: user.group) }
  }

  /// The value of `BATON_PAYLOAD_FILE`: the file with the payload of the request.
  func payloadFile(of assignment: Assignment) -> String { file("payload", with: assignment.payload) }
  /// The value of `BATON_CHECKPOINT_FILE`: the file with the cursor at the launch's start.
  func checkpointFile(of assignment: Assignment) -> String { file("checkpoint.json", with: assignment.progress.cursor) }

  /// The path of the file, or `/dev/null` if there is nothing to write: making and removing files is the largest part
  /// of what a short command costs.
  private func file(_ name: String, with bytes: [UInt8]?) -> String {
    bytes?.isEmpty ?? true ? "/dev/null" : "\(path)/\(name)"
  }

  /// Writes the payload and the cursor of the assignment.
  func write(_ assignment: Assignment) throws {
    for (name, bytes) in [("payload", assignment.payload), ("checkpoint.json", assignment.progress.cursor)] {
      if let bytes, !bytes.isEmpty { try folder.write(bytes, to: name, reader: reader) }
    }
  }

  /// The value of `BATON_TRANSFERS`.
  var transfersFile: String { "\(path)/\(Self.transfersName)" }

  func writeTransfers(_ bytes: [UInt8]) throws { try folder.write(bytes, to: Self.transfersName, reader: reader) }

  /// Gives the folder another name of a file. Call it before a command runs here.
  /// - Returns: the path of that name.
  func link(_ file: String, as name: String) throws -> String {
    let place = "\(path)/\(name)"
    guard linkat(AT_FDCWD, file, folder.descriptor, name, 0) == 0 else {
      throw SystemCall.failure("cannot give to the launch the file", file)
    }
    return place
  }

  /// The value of `BATON_INPUTS_FILE`.
  var inputsFile: String { "\(path)/\(Self.inputsName)" }

  /// Writes the file with how the requests have ended that this one waited for.
  func writeInputs(_ bytes: [UInt8]) throws { try folder.write(bytes, to: Self.inputsName, reader: reader) }

  /// The value of `BATON_SUBMIT_SOCKET`.
  var submissionSocket: String { "\(path)/\(Self.socketName)" }

  /// Makes the socket for submissions, on which only `user` and the worker's user can connect.
  func listen(for user: CommandUser?) throws -> UnixSocket {
    guard let socket = UnixSocket.make() else { throw SystemCall.failure("cannot make a socket for", submissionSocket) }
    let problem = UnixSocket.shortening(Self.socketName, in: folder) { place in
      let problem = socket.bind(to: place)
      if problem != 0 { return problem }
      return chmod(place, 0o600) == 0 ? socket.listen() : errno
    }
    guard problem == 0 else {
      throw SystemError(
        .failed, "cannot listen on \(submissionSocket): \(SystemCall.explanation(of: problem))", cause: problem)
    }
    if let user { try folder.give(Self.socketName, to: user.id, user.group) }
    return socket
  }

  /// Writes the file with the items of a batch. It replaces the file of the batch before.
  func writeItems(_ bytes: [UInt8]) throws { try folder.write(bytes, to: Self.itemsName, reader: reader) }

  /// Writes the expiry file. The file appears only when it is complete, so that a command that polls for it never reads
  /// a part of it.
  func announce(_ notice: ExpiryNotice) throws {
    try folder.replace(ProcessMarker.fileName, with: notice.json(), reader: reader)
  }

  /// The value of `BATON_EXPIRY_FILE`. The file does not exist until the launch expires.
  var expiryFile: String { ProcessMarker.value(folder: path) }
  /// The value of `BATON_ITEMS_FILE`.
  var itemsFile: String { "\(path)/\(Self.itemsName)" }
  /// The value of `TMPDIR`.
  var temporary: String { "\(path)/\(Self.temporaryName)" }
  /// The working directory of a command whose definition has no `directory`.
  var empty: String { "\(path)/\(Self.emptyName)" }

  private static let (itemsName, temporaryName, emptyName) = ("items", "tmp", "work")
  private static let inner = [temporaryName, emptyName]
  private static let (transfersName, inputsName, socketName) = ("transfers.json", "inputs.json", "submit.sock")

  /// Removes the folder and everything that commands put into it, or keeps it for another launch. A folder that cannot
  /// be removed is tried again when a worker starts.
  func remove() async {
    if let spares, spares.keep(folder, with: Self.inner) { return }
    // On a thread of its own, because some file systems take milliseconds for each folder.
    _ = try? await onOwnThread {
      if removeFiles(), let spares, spares.keep(folder, with: Self.inner) { return }
      if !removeEmpty() { folder.remove() }
    }
  }

  /// Removes the files that Baton made. Returns `false` if one cannot be removed.
  private func removeFiles() -> Bool {
    [
      "payload", "checkpoint.json", Self.itemsName, Self.transfersName, Self.inputsName, Self.socketName,
      ProcessMarker.fileName,
    ].allSatisfy(folder.removeFile)
  }

  /// Removes the folder if nothing is left in it.
  private func removeEmpty() -> Bool { Self.inner.allSatisfy(folder.removeEmptyFolder) && rmdir(path) == 0 }
}
