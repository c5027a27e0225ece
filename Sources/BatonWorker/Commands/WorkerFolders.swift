package import BatonModel

/// Where a worker keeps what it needs on its host, all below its `--data` folder: `processes/` names every running
/// command (see `ProcessRegistry`), `launches/` has one folder per launch, `secret` proves whose the worker's name is. Of
/// the rest nothing there outlives its launch for long,
/// and nothing there is the truth about anything: that is the store.
package struct WorkerFolders: Hashable, Sendable {
  /// Absolute, without symbolic links, so that a process can be known by it (`ProcessMarker`).
  package let data: String

  /// Makes the folders below `data` and `data` itself, for the worker's user only (mode 0700).
  /// - Throws: `CommandError` with code `.host` if that cannot be done.
  package init(data: String) throws {
    try SystemCall.makeFolders(data)
    self.data = try SystemCall.absolutePath(of: data)
    for folder in [launches, processes] { try SystemCall.makeFolders(folder) }
  }

  package var launches: String { data + "/launches" }
  package var processes: String { data + "/processes" }
  package var secret: String { Self.secret(data: data) }

  /// Where a worker with that data folder keeps what proves who it is.
  package static func secret(data: String) -> String { data + "/secret" }

  package func folder(of launch: LaunchKey) -> String { "\(launches)/\(launch.request)-\(launch.number)" }

  /// Removes what launches of an earlier worker left; call it after `ProcessRegistry.killLeftovers`, and before the
  /// first launch. What cannot be removed stays until the next start: it is in nobody's way.
  package func removeLeftovers() {
    guard let folder = try? OpenFolder(at: launches) else { return }
    FolderRemoval.empty(folder.descriptor)
  }
}
