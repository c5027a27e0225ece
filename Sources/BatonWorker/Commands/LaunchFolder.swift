import BatonModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The files of one launch, below the worker's data folder; gone when the launch is over.
struct LaunchFolder: Hashable, Sendable {
  let path: String

  /// Makes the folder anew.
  init(_ path: String) throws {
    self.path = path
    try? FileManager.default.removeItem(atPath: path)
    for folder in [path, temporary, empty] { try SystemCall.makeFolders(folder) }
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
    for (path, bytes) in [
      (payloadFile(of: assignment), assignment.payload), (checkpointFile(of: assignment), assignment.progress.cursor),
    ] {
      if let bytes, !bytes.isEmpty { try SystemCall.write(bytes, to: path) }
    }
  }

  /// `BATON_EXPIRY_FILE`: not there until the launch expires.
  var expiryFile: String { ProcessMarker.value(folder: path) }
  /// `BATON_ITEMS_FILE`.
  var itemsFile: String { path + "/items" }
  var progressPipe: String { path + "/progress" }
  var commitPipe: String { path + "/commits" }
  /// `TMPDIR`.
  var temporary: String { path + "/tmp" }
  /// The working directory of a definition that names none.
  var empty: String { path + "/work" }

  /// Removes the folder and all that commands put there. What cannot be removed is tried again when a worker starts.
  /// On a thread of its own: some file systems take milliseconds for each folder.
  func remove() async {
    _ = try? await onOwnThread { if !removeOwn() { try FileManager.default.removeItem(atPath: path) } }
  }

  /// Removes what Baton put there; false if there is more.
  private func removeOwn() -> Bool {
    for file in ["payload", "checkpoint.json", "items", "progress", "commits"] { unlink("\(path)/\(file)") }
    unlink(expiryFile)
    return [temporary, empty, path].allSatisfy { (folder: String) in rmdir(folder) == 0 }
  }
}
