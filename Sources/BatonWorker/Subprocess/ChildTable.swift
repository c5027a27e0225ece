import Synchronization

/// The children that this process started itself and has not reaped yet: every other child of it is an orphan that it
/// adopted. One for the whole process, because a process has one set of children.
enum ChildTable {
  private struct State {
    var pids: [Int: Int32?] = [:]
    var nextPlace = 0
    /// Folders of launches whose processes may live.
    var launches: Set<String> = []
  }

  private static let state = Mutex(State())

  /// Call before a process is started: while one is, no child that nobody knows is taken for an orphan.
  static func reserve() -> Int {
    state.withLock { state in
      state.nextPlace += 1
      state.pids.updateValue(nil, forKey: state.nextPlace)
      return state.nextPlace
    }
  }

  static func remember(_ pid: Int32, at place: Int) { _ = state.withLock { $0.pids.updateValue(pid, forKey: place) } }

  /// Call when the process is reaped, or could not be started.
  static func forget(_ place: Int) { _ = state.withLock { $0.pids.removeValue(forKey: place) } }

  static func begin(_ folder: String) { _ = state.withLock { $0.launches.insert(folder) } }
  static func end(_ folder: String) { _ = state.withLock { $0.launches.remove(folder) } }

  /// What is started or runs now: nil stands for one that is being started.
  static var known: [Int32?] { state.withLock { Array($0.pids.values) } }
  static var launches: Set<String> { state.withLock { $0.launches } }
}
