import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The files of one launch, below the worker's data folder; gone when the launch is over.
///
/// Its commands may write there, so the worker goes by the folder's descriptor and never follows a link in it.
struct LaunchFolder: Sendable {
  let path: String
  private let folder: OpenFolder

  /// Makes the folder anew.
  /// - Parameter path: in a folder that is there.
  init(_ path: String) throws {
    self.path = path
    if let end = path.lastIndex(of: "/") {
      let launches = try OpenFolder(at: String(path[...end]))
      FolderRemoval.remove(String(path[path.index(after: end)...]), in: launches.descriptor)
    }
    folder = try OpenFolder(making: path)
    for name in [Self.temporaryName, Self.emptyName] { try folder.makeFolder(name) }
  }

  /// `BATON_PAYLOAD_FILE`: what was submitted with the request.
  func payloadFile(of assignment: Assignment) -> String { file("payload", with: assignment.payload) }
  /// `BATON_CHECKPOINT_FILE`: the cursor that the launch begins with.
  func checkpointFile(of assignment: Assignment) -> String { file("checkpoint.json", with: assignment.progress.cursor) }

  /// Nothing need be written to say nothing: making and removing files is most of what a short command costs.
  private func file(_ name: String, with bytes: [UInt8]?) -> String {
    bytes?.isEmpty ?? true ? "/dev/null" : "\(path)/\(name)"
  }

  /// Writes what the assignment brings along.
  func write(_ assignment: Assignment) throws {
    for (name, bytes) in [("payload", assignment.payload), ("checkpoint.json", assignment.progress.cursor)] {
      if let bytes, !bytes.isEmpty { try folder.write(bytes, to: name) }
    }
  }

  /// Writes the file of a batch's items, in the place of the one of the batch before.
  func writeItems(_ bytes: [UInt8]) throws { try folder.write(bytes, to: Self.itemsName) }

  /// The file appears with everything in it: a command that polls for it never reads half.
  func announce(_ notice: ExpiryNotice) throws { try folder.replace(ProcessMarker.fileName, with: notice.json()) }

  /// `BATON_EXPIRY_FILE`: not there until the launch expires.
  var expiryFile: String { ProcessMarker.value(folder: path) }
  /// `BATON_ITEMS_FILE`.
  var itemsFile: String { "\(path)/\(Self.itemsName)" }
  /// `TMPDIR`.
  var temporary: String { "\(path)/\(Self.temporaryName)" }
  /// The working directory of a definition that names none.
  var empty: String { "\(path)/\(Self.emptyName)" }

  private static let (itemsName, temporaryName, emptyName) = ("items", "tmp", "work")

  /// Removes the folder and all that commands put there. What cannot be removed is tried again when a worker starts.
  /// On a thread of its own: some file systems take milliseconds for each folder.
  func remove() async {
    _ = try? await onOwnThread { if !removeOwn() { folder.remove() } }
  }

  /// Removes what Baton put there; false if there is more.
  private func removeOwn() -> Bool {
    for file in ["payload", "checkpoint.json", Self.itemsName, ProcessMarker.fileName] {
      guard folder.removeFile(file) else { return false }
    }
    return [Self.temporaryName, Self.emptyName].allSatisfy(folder.removeEmptyFolder) && rmdir(path) == 0
  }
}
