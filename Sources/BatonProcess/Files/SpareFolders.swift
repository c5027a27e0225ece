import BatonBase
import Synchronization

/// Folders of launches that are over, for the launches that come next: to rename one costs a tenth of making and
/// removing three folders, and some file systems wait for the disk at each removal.
///
/// A folder is kept only if its commands have left it as it was made. Their processes have ended before.
package final class SpareFolders: Sendable {
  private let folders: WorkerFolders
  private let state = Mutex(State())

  private struct State {
    var names: [String] = []
    var last = 0
  }

  /// The most folders that are kept.
  private static let limit = 16

  package init(in folders: WorkerFolders) { self.folders = folders }

  /// Moves a spare folder to a path at which there is nothing.
  /// - Returns: `nil` if there is no spare folder, or if it cannot be moved.
  package func take(for path: String) -> OpenFolder? {
    guard let name = state.withLock({ $0.names.popLast() }) else { return nil }
    guard rename("\(folders.spares)/\(name)", path) == 0 else {
      state.withLock { $0.names.append(name) }
      return nil
    }
    return try? OpenFolder(itself: path)
  }

  /// Keeps a folder of a launch that is over.
  /// - Parameter inner: the folders that were made in it.
  /// - Returns: `false` if it is not kept. It is then where it was.
  package func keep(_ folder: OpenFolder, with inner: [String]) -> Bool {
    guard state.withLock({ $0.names.count < Self.limit }), folder.isInPlace, folder.isPristine(with: inner) else {
      return false
    }
    let name = state.withLock { state in
      state.last += 1
      return "\(state.last)"
    }
    if name == "1" { mkdir(folders.spares, 0o700) }
    guard rename(folder.path, "\(folders.spares)/\(name)") == 0 else { return false }
    state.withLock { $0.names.append(name) }
    return true
  }
}
