package import BatonModel

/// The folders of a worker, all below its data folder (`--data`): `launches/` has a folder for each launch. The file
/// `secret` proves that the worker's name belongs to it. Apart from the secret, nothing here lasts much longer than its
/// launch, and nothing is the source of truth: that is the store.
package struct WorkerFolders: Hashable, Sendable {
  /// The absolute path without symbolic links. Processes are recognised by it (`ProcessMarker`).
  package let data: String

  /// Makes `data` and the folder below it, with mode 0700.
  /// - Throws: `SystemError` if a folder cannot be made.
  package init(data: String) throws {
    try SystemCall.makeFolders(data)
    self.data = try SystemCall.absolutePath(of: data)
    try SystemCall.makeFolders(launches)
  }

  package var launches: String { data + "/launches" }
  /// Where `SpareFolders` keeps folders.
  package var spares: String { data + "/spares" }
  package var secret: String { Self.secret(data: data) }

  /// The file with the secret of a worker that has this data folder.
  package static func secret(data: String) -> String { data + "/secret" }

  package func folder(of launch: LaunchKey) -> String { "\(launches)/\(launch.request)-\(launch.number)" }

  /// Removes the launch folders that an earlier worker left. Call it after `ProcessRegistry.killLeftovers` and before
  /// the first launch. A folder that cannot be removed stays until the next start and does no harm.
  package func removeLeftovers() {
    guard let folder = try? OpenFolder(at: launches) else { return }
    FolderRemoval.empty(folder.descriptor)
    guard let data = try? OpenFolder(at: data) else { return }
    FolderRemoval.remove("spares", in: data.descriptor)
    // Earlier versions had a file there for each command.
    FolderRemoval.remove("processes", in: data.descriptor)
  }
}
