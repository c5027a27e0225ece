#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The path of the socket on which a worker listens for its host's owner.
package struct OwnerSocketPath: Hashable, Sendable {
  package let path: String
  /// The socket's folder is the user's own runtime folder, and is made if it is missing.
  package let makesFolder: Bool

  /// The path is the setting `ownerSocket` if it is set. Otherwise it is in the folder that systemd made for the
  /// service (`$RUNTIME_DIRECTORY`, systemd.exec(5)), or else in the runtime folder of the worker's user.
  /// - Parameters:
  ///   - setting: the setting `ownerSocket`, or `nil`.
  ///   - name: the worker's name. It is part of the file name in the user's runtime folder.
  ///   - environment: the worker's environment variables.
  ///   - user: the worker's user id.
  package init(setting: String?, name: String, environment: [String: String], user: UInt32) {
    let folder = Self.systemdFolder(environment)
    makesFolder = setting == nil && folder == nil
    path =
      setting ?? folder.map { $0 + "/worker.sock" }
      ?? Self.userFolder(environment, user: user) + "/worker-\(name).sock"
  }

  /// The first folder, if the service has several.
  static func systemdFolder(_ environment: [String: String]) -> String? {
    environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first.map(String.init)
  }

  /// The folder in which a coordinator keeps its token too: `$XDG_RUNTIME_DIR/baton`, or a folder of the user's own
  /// below /tmp.
  static func userFolder(_ environment: [String: String], user: UInt32) -> String {
    let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 }
    return runtime.map { $0 + "/baton" } ?? "/tmp/baton-\(user)"
  }

  /// The folders in which an owner's command looks for the workers of this host.
  static func folders(environment: [String: String], user: UInt32) -> [String] {
    var folders: [String] = []
    for folder in [systemdFolder(environment), "/run/baton", userFolder(environment, user: user)] {
      if let folder, !folders.contains(folder) { folders.append(folder) }
    }
    return folders
  }

  /// The worker's name in the file name of a socket. `nil` for `worker.sock`, and for a file that is not a worker's
  /// socket.
  static func name(ofFile file: String) -> String? {
    guard file.hasPrefix("worker-"), file.hasSuffix(".sock"), file.utf8.count > 12 else { return nil }
    return String(file.dropFirst("worker-".count).dropLast(".sock".count))
  }

  static func isSocketName(_ file: String) -> Bool { file == "worker.sock" || name(ofFile: file) != nil }
}
