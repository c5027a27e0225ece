#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Finds the worker that an owner's command is for.
package struct OwnerSocketSearch: Hashable, Sendable {
  /// A socket in one of the folders, and who is there.
  struct Found: Hashable, Sendable {
    enum State: Hashable, Sendable {
      case live(name: String)
      case notPermitted
      /// What a dead worker left.
      case dead
    }

    var path: String
    var state: State
  }

  let folders: [String]
  /// To get an answer of each socket; who gives none is taken for dead.
  let patience: Duration

  package init(environment: [String: String]) {
    self.init(folders: OwnerSocketPath.folders(environment: environment, user: geteuid()))
  }

  init(folders: [String], patience: Duration = .seconds(5)) {
    self.folders = folders
    self.patience = patience
  }

  /// The path of the one worker there is, or of the one called `name`.
  /// - Throws: if there is none, or more than one, or this user may not ask; the message says what to do.
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
      let advice = name == nil ? "say which with --name" : "say which with --socket"
      throw OwnerClientError(.refused, "several workers run on this host: \(names); \(advice)")
    }
    if let denied = found.first(where: { $0.state == .notPermitted }) {
      throw OwnerClientError(
        .notPermitted,
        "this user may not ask the worker at \(denied.path): only root, the worker's user and members of "
          + "the group '\(OwnerAccess.groupName)' may")
    }
    if let name, !live.isEmpty {
      throw OwnerClientError(.unreachable, "no worker called '\(name)' runs on this host; there is \(names)")
    }
    throw OwnerClientError(
      .unreachable,
      "no worker runs on this host as far as this user can see; looked in "
        + folders.joined(separator: ", ") + ". Start one, or say --socket PATH (its setting 'ownerSocket'), "
        + "or ask as its user or root")
  }

  func candidates() -> [String] {
    folders.filter(Self.isTrusted).flatMap { folder in
      SystemRoot(folder).names(in: "").filter(OwnerSocketPath.isSocketName).map { folder + "/" + $0 }
    }
  }

  /// Below /tmp anybody could have made the folder, and a worker in it.
  private static func isTrusted(_ folder: String) -> Bool {
    !folder.hasPrefix("/tmp/") || FileIdentity(of: folder)?.isOwnFolder == true
  }

  func state(of path: String) async -> Found.State {
    do throws(OwnerClientError) {
      return .live(name: try await OwnerClient(path: path, patience: patience).ask(.status).0.name)
    } catch {
      switch error.code {
      case .notPermitted: return .notPermitted
      case .unreachable: return .dead
      // It lives, whatever it speaks.
      case .refused:
        return .live(name: path.split(separator: "/").last.flatMap { OwnerSocketPath.name(ofFile: String($0)) } ?? "?")
      }
    }
  }
}
