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

  /// `BATON_PAYLOAD_FILE`: what was submitted with the request, empty without a payload.
  var payloadFile: String { path + "/payload" }
  /// `BATON_CHECKPOINT_FILE`.
  var checkpointFile: String { path + "/checkpoint.json" }
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
  func remove() async {
    if removeOwn() { return }
    _ = try? await onOwnThread { try FileManager.default.removeItem(atPath: path) }
  }

  /// Removes what Baton put there; false if there is more.
  private func removeOwn() -> Bool {
    for file: String in [payloadFile, checkpointFile, expiryFile, itemsFile, progressPipe, commitPipe] { unlink(file) }
    return [temporary, empty, path].allSatisfy { (folder: String) in rmdir(folder) == 0 }
  }
}
