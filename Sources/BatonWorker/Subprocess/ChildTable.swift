import Synchronization

/// The children that this process started itself and has not reaped yet: every other child of it is an orphan that it
/// adopted. One for the whole process, because a process has one set of children.
enum ChildTable {
  private struct State {
    var pids: [Int: Int32?] = [:]
    var nextPlace = 0
    var origins = ProcessOrigins()
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

  /// From now on processes of the launch may live.
  static func begin(_ folder: String) { state.withLock { $0.origins.begin(folder, at: ProcessOrigins.ticks) } }
  static func end(_ folder: String) { state.withLock { $0.origins.end(folder) } }
  /// Call when nothing is left of the launch.
  static func forget(launch folder: String) { state.withLock { $0.origins.forget(folder) } }
  static func saw(_ family: [ProcessEntry], of folder: String) { state.withLock { $0.origins.saw(family, of: folder) } }

  /// What is started or runs now: nil stands for one that is being started.
  static var known: [Int32?] { state.withLock { Array($0.pids.values) } }
  static var origins: ProcessOrigins { state.withLock { $0.origins } }
}
