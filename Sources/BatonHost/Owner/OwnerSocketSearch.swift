import BatonBase
import BatonProcess

/// Finds the worker for which an owner's command is meant.
package struct OwnerSocketSearch: Hashable, Sendable {
  /// A socket in one of the folders, and what answers there.
  struct Found: Hashable, Sendable {
    enum State: Hashable, Sendable {
      case live(name: String)
      case notPermitted
      /// The socket was left by a dead worker.
      case dead
    }

    var path: String
    var state: State
  }

  let folders: [String]
  /// How long each socket may take to answer. A socket without an answer counts as dead.
  let patience: Duration

  package init(environment: [String: String]) {
    self.init(folders: OwnerSocketPath.folders(environment: environment, user: geteuid()))
  }

  init(folders: [String], patience: Duration = .seconds(5)) {
    self.folders = folders
    self.patience = patience
  }

  /// The path of the socket of the only worker on this host, or of the worker with this name.
  /// - Throws: `OwnerClientError` if no worker or more than one matches, or if this user may not ask. The message says
  ///   what to do.
  package func path(name: String?) async throws(OwnerClientError) -> String {
    var found: [Found] = []
    for path in candidates() { found.append(Found(path: path, state: await state(of: path))) }
    return try Self.choose(among: found, name: name, folders: folders)
  }

  static func choose(
    among found: [Found], name: String?, folders: [String]
  ) throws(OwnerClientError) -> String {
    let live = found.compactMap { entry in
      if case .live(let name) = entry.state { (name: name, path: entry.path) } else { nil }
    }
    let matching = live.filter { name == nil || $0.name == name }
    if matching.count == 1 { return matching[0].path }
    let names = live.map { "\($0.name) (\($0.path))" }.joined(separator: ", ")
    if matching.count > 1 {
      let advice = name == nil ? "choose one with --name NAME" : "choose one with --socket PATH"
      throw OwnerClientError(.refused, "several workers run on this host: \(names); \(advice)")
    }
    if let denied = found.first(where: { $0.state == .notPermitted }) {
      throw OwnerClientError(
        .notPermitted,
        "this user is not permitted to command the worker at \(denied.path): only root, the worker's user and members "
          + "of the group '\(OwnerAccess.groupName)' are")
    }
    if let name, !live.isEmpty {
      throw OwnerClientError(.unreachable, "no worker called '\(name)' runs on this host; there is \(names)")
    }
    throw OwnerClientError(
      .unreachable,
      "no worker was found on this host in " + folders.joined(separator: ", ")
        + ". Start a worker; or name its socket with --socket PATH (the worker's setting 'ownerSocket'); or run this "
        + "command as root or as the worker's user")
  }

  /// The paths of all sockets in the folders that have the file name of a worker's socket.
  func candidates() -> [String] {
    folders.filter(Self.isTrusted).flatMap { folder in
      SystemRoot(folder).names(in: "").filter(OwnerSocketPath.isSocketName).map { folder + "/" + $0 }
    }
  }

  /// Whether the folder can be relied on. Below /tmp any user can make such a folder with a false worker in it, so
  /// there the folder must belong to this user.
  private static func isTrusted(_ folder: String) -> Bool {
    !folder.hasPrefix("/tmp/") || FileIdentity(of: folder)?.isOwnFolder == true
  }

  /// Asks the socket for its worker's name.
  func state(of path: String) async -> Found.State {
    do throws(OwnerClientError) {
      return .live(name: try await OwnerClient(path: path, patience: patience).ask(.status).0.name)
    } catch {
      switch error.code {
      case .notPermitted: return .notPermitted
      case .unreachable: return .dead
      // A process answers, although not in a way that this version understands. The name comes from the file.
      case .refused:
        return .live(name: path.split(separator: "/").last.flatMap { OwnerSocketPath.name(ofFile: String($0)) } ?? "?")
      }
    }
  }
}
