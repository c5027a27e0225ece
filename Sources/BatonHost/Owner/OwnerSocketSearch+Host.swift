import BatonBase

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds all workers of a host that a user can see. `baton doctor` uses it.
extension OwnerSocketSearch {
  /// The sockets of workers that were found.
  package struct Census: Hashable, Sendable {
    /// A worker that answers.
    package struct Worker: Hashable, Sendable {
      package var name: String
      /// The path of the worker's socket for its owner.
      package var path: String

      package init(name: String, path: String) {
        self.name = name
        self.path = path
      }
    }

    /// The workers in the order of their names.
    package var workers: [Worker] = []
    /// The sockets that this user may not use.
    package var denied: [String] = []
  }

  /// How many sockets are asked at most. Any user of the host may leave sockets with a worker's name, so the number and
  /// the time for each (`shortPatience`) are limited.
  private static let mostSockets = 64
  static let shortPatience = Duration.seconds(1)

  /// Asks the sockets in the folders in which an owner's command looks, the sockets that the system lists with the file
  /// name of a worker's socket, and the socket at `setting`. Of the listed sockets that belong to other users, a user
  /// other than root asks only those below /run.
  /// - Parameter setting: the setting `ownerSocket`.
  package static func census(environment: [String: String], setting: String?) async -> Census {
    let folders = OwnerSocketPath.folders(environment: environment, user: geteuid())
    let listed = FileManager.default.contents(atPath: "/proc/net/unix").map { String(decoding: $0, as: UTF8.self) }
    return await census(folders: folders, listed: Self.paths(inTable: listed ?? ""), setting: setting)
  }

  static func census(
    folders: [String], listed: [String], setting: String?, patience: Duration = shortPatience
  ) async -> Census {
    let search = OwnerSocketSearch(folders: folders, patience: patience)
    let others = listed.filter { path in
      guard let file = FileIdentity(of: path) else { return false }
      return file.isSocket && (geteuid() == 0 || file.user == geteuid() || path.hasPrefix("/run/"))
    }
    let paths = Set(search.candidates() + others + [setting].compactMap { $0 }).sorted().prefix(mostSockets)
    var census = Census()
    for path in paths {
      switch await search.state(of: path) {
      case .live(let name): census.workers.append(Census.Worker(name: name, path: path))
      case .notPermitted: census.denied.append(path)
      case .dead: break
      }
    }
    census.workers.sort { ($0.name, $0.path) < ($1.name, $1.path) }
    return census
  }

  /// The paths of sockets with the file name of a worker's socket, from the text of /proc/net/unix (proc(5)). The path
  /// is the eighth column; the seven columns before it have no spaces.
  static func paths(inTable text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      let columns = line.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: true)
      guard columns.count == 8, columns[7].hasPrefix("/"), let file = columns[7].split(separator: "/").last,
        OwnerSocketPath.isSocketName(String(file))
      else { return nil }
      return String(columns[7])
    }
  }
}
