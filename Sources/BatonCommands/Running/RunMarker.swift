#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file beside the store of `baton run` that says: every request of the last run succeeded, so the next one starts
/// anew. Written and removed while the store is locked. Without it a state that is there is one to go on with.
struct RunMarker: Hashable, Sendable {
  let path: String

  init(dataFolder: String) { path = dataFolder + "/run.finished" }

  var isSet: Bool { FileManager.default.fileExists(atPath: path) }

  /// - Throws: if the folder cannot be written; the next run would then take this one for unfinished.
  func set() throws { try Data().write(to: URL(filePath: path)) }

  func clear() throws {
    guard isSet else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}
