import Synchronization

/// The children that this process has started itself and not reaped yet. Every other child is an orphan that this
/// process has adopted. The table is static because a process has only one set of children.
enum ChildTable {
  private struct State {
    var pids: [Int: Int32?] = [:]
    var nextPlace = 0
    var origins = ProcessOrigins()
  }

  private static let state = Mutex(State())

  /// Reserves a place for a process that is about to be started. While a place has no process id, a child that is not
  /// in the table may be the new process, so it does not count as an orphan.
  static func reserve() -> Int {
    state.withLock { state in
      state.nextPlace += 1
      state.pids.updateValue(nil, forKey: state.nextPlace)
      return state.nextPlace
    }
  }

  static func remember(_ pid: Int32, at place: Int) { _ = state.withLock { $0.pids.updateValue(pid, forKey: place) } }

  /// Call this when the process has been reaped, or could not be started.
  static func forget(_ place: Int) { _ = state.withLock { $0.pids.removeValue(forKey: place) } }

  /// Notes that a launch begins: from now on, its processes may be running.
  static func begin(_ folder: String) { state.withLock { $0.origins.begin(folder, at: ProcessOrigins.ticks) } }
  static func end(_ folder: String) { state.withLock { $0.origins.end(folder) } }
  /// Call this when the launch has no processes left.
  static func forget(launch folder: String) { state.withLock { $0.origins.forget(folder) } }
  /// Notes the processes that run below a command of the launch.
  static func saw(_ family: [ProcessEntry], of folder: String) { state.withLock { $0.origins.saw(family, of: folder) } }

  /// The process ids of the children that have been started or are being started. `nil` stands for a process that is
  /// being started.
  static var known: [Int32?] { state.withLock { Array($0.pids.values) } }
  static var origins: ProcessOrigins { state.withLock { $0.origins } }
}
