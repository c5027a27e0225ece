#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A file beside the store of `baton run`. It is there if every request of the last run has succeeded; then the next
/// run starts from the beginning. If it is missing, the next run goes on with the state that it finds. It is written
/// and removed only while the store is locked.
struct RunMarker: Hashable, Sendable {
  let path: String

  init(dataFolder: String) { path = dataFolder + "/run.finished" }

  var isSet: Bool { FileManager.default.fileExists(atPath: path) }

  /// Creates the file.
  /// - Throws: an error of Foundation if the folder cannot be written; the next run then takes this run for unfinished.
  func set() throws { try Data().write(to: URL(filePath: path)) }

  func clear() throws {
    guard isSet else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}
