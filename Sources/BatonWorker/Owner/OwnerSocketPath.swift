#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Where a worker listens for its host's owner.
package struct OwnerSocketPath: Hashable, Sendable {
  package let path: String
  /// Its folder is the user's own runtime folder, to be made if it is missing.
  package let makesFolder: Bool

  /// What the setting `ownerSocket` says; else below the folder that systemd made for the service
  /// (`$RUNTIME_DIRECTORY`, systemd.exec(5)); else below the runtime folder of the worker's user.
  /// - Parameter user: the worker's user id.
  package init(setting: String?, name: String, environment: [String: String], user: UInt32) {
    let folder = Self.systemdFolder(environment)
    makesFolder = setting == nil && folder == nil
    path =
      setting ?? folder.map { $0 + "/worker.sock" }
      ?? Self.userFolder(environment, user: user) + "/worker-\(name).sock"
  }

  /// The first, if the unit asks for several.
  static func systemdFolder(_ environment: [String: String]) -> String? {
    environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
  }

  /// As for a coordinator's token: `$XDG_RUNTIME_DIR/baton`, or a folder of the user's own below /tmp.
  static func userFolder(_ environment: [String: String], user: UInt32) -> String {
    let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
    return runtime.map { $0 + "/baton" } ?? "/tmp/baton-\(user)"
  }

  /// Folders where an owner's command looks for workers of this host.
  static func folders(environment: [String: String], user: UInt32) -> [String] {
    var folders: [String] = []
    for folder in [systemdFolder(environment), "/run/baton", userFolder(environment, user: user)] {
      if let folder, !folders.contains(folder) { folders.append(folder) }
    }
    return folders
  }

  /// The worker that a socket's file name says; nil for `worker.sock`, and for what is no socket of ours.
  static func name(ofFile file: String) -> String? {
    guard file.hasPrefix("worker-"), file.hasSuffix(".sock"), file.utf8.count > 12 else { return nil }
    return String(file.dropFirst("worker-".count).dropLast(".sock".count))
  }

  static func isSocketName(_ file: String) -> Bool { file == "worker.sock" || name(ofFile: file) != nil }
}
