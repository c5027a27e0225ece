import BatonBase
import CBatonProcess
import Synchronization

/// The children that this process has started itself and not reaped yet. Every other child is an orphan that this
/// process has adopted. The table is static because a process has only one set of children.
///
/// Commands are started, reaped and looked for under one lock. Therefore a look is exact: the kernel's list of children
/// leaves out no child while none is reaped (proc_tid_children(5)), and a child that is not in this table is no
/// command.
enum ChildTable {
  private struct State {
    var started: Set<Int32> = []
    /// The processes that the Subprocess library starts and reaps; `nil` while one is being started.
    var foreign: [Int: Int32?] = [:]
    var nextPlace = 0
    var origins = ProcessOrigins()
  }

  private static let state = Mutex(State())

  /// Starts a process and enters it.
  /// - Parameter body: returns the new child, or `nil` if there is none.
  static func start<Failure: Error>(_ body: () throws(Failure) -> Int32?) throws(Failure) -> Int32? {
    try state.withLock { state throws(Failure) in
      let pid = try body()
      if let pid { state.started.insert(pid) }
      return pid
    }
  }

  /// Reaps a process of this table, which has ended. Returns its status, as waitpid(2) gives it, and its processor time
  /// with that of the processes that it has reaped; `nil` if another part of this program has reaped it.
  static func reap(_ pid: Int32) -> (status: Int32, cpuTime: Duration)? {
    state.withLock { state in
      state.started.remove(pid)
      var (status, microseconds): (Int32, Int64) = (0, 0)
      var reaped: Int32 = 0
      repeat { reaped = baton_reap(pid, &status, &microseconds) } while reaped == 0
      return reaped < 0 ? nil : (status, .microseconds(microseconds))
    }
  }

  /// Reaps the members of a process group that have ended and are children of this process. Returns their processor
  /// time.
  static func reapGroup(_ group: Int32) -> Duration {
    state.withLock { _ in
      var (status, microseconds, sum): (Int32, Int64, Int64) = (0, 0, 0)
      while baton_reap(-group, &status, &microseconds) > 0 { sum += microseconds }
      return .microseconds(sum)
    }
  }

  /// Reaps an orphan if it has ended.
  static func reapOrphan(_ pid: Int32) { state.withLock { _ in _ = waitpid(pid, nil, WNOHANG) } }

  // MARK: Processes of the Subprocess library

  /// Reserves a place for a process that is about to be started. While a place has no process id, a child that is not
  /// in the table may be the new process, so it does not count as an orphan.
  static func reserve() -> Int {
    state.withLock { state in
      state.nextPlace += 1
      state.foreign.updateValue(nil, forKey: state.nextPlace)
      return state.nextPlace
    }
  }

  static func remember(_ pid: Int32, at place: Int) {
    _ = state.withLock { $0.foreign.updateValue(pid, forKey: place) }
  }

  /// Call this when the process has been reaped, or could not be started.
  static func forget(_ place: Int) { _ = state.withLock { $0.foreign.removeValue(forKey: place) } }

  /// The processes of the library that run.
  static var foreign: [Int32] { state.withLock { $0.foreign.values.compactMap(\.self) } }

  // MARK: Launches

  /// Notes that a launch begins: from now on, its processes may be running.
  static func begin(_ folder: String) { state.withLock { $0.origins.begin(folder, at: ProcessOrigins.ticks) } }
  static func end(_ folder: String) { state.withLock { $0.origins.end(folder) } }
  /// Call this when the launch has no processes left.
  static func forget(launch folder: String) { state.withLock { $0.origins.forget(folder) } }
  /// Notes the processes that run below a command of the launch.
  static func saw(_ family: [ProcessEntry], of folder: String) { state.withLock { $0.origins.saw(family, of: folder) } }

  // MARK: Orphans

  /// What a look at the children of this process has found.
  struct Look {
    /// The children that this process has not started.
    var strangers: [ProcessEntry]
    var origins: ProcessOrigins
    /// Whether one of the strangers may be a process that the library is starting.
    var mayBeStarting: Bool
    /// Whether there is no stranger that the look did not find.
    var isComplete: Bool
  }

  /// - Parameter everywhere: whether to search the whole process table, instead of the kernel's list of children.
  static func look(everywhere: Bool) -> Look {
    state.withLock { state in
      let children: [Int32]?
      if everywhere {
        children = ProcessTable.all().filter { $0.parent == getpid() }.map(\.pid)
      } else {
        children = ProcessTable.adopted()
      }
      let known = state.started.union(state.foreign.values.compactMap(\.self))
      return Look(
        strangers: (children ?? []).filter { !known.contains($0) }.compactMap { ProcessTable.entry(of: $0) },
        origins: state.origins, mayBeStarting: state.foreign.values.contains(nil),
        // The library reaps its processes without this lock.
        isComplete: children != nil && state.foreign.isEmpty)
    }
  }
}
