package import BatonModel
import Synchronization

/// Measures what the commands of a launch use.
extension ProcessRegistry {
  /// What the commands of a launch have used.
  struct LaunchUse: Hashable, Sendable {
    /// The processor time of commands that have ended.
    var ended = Duration.zero
    /// The highest processor time that was measured. The result never falls below it, although a daemon that leaves its
    /// command's process tree is no longer measured.
    var most = Duration.zero
  }

  /// What the launch's commands have used so far. The processor time includes ended commands with the processes that
  /// they reaped, and running commands with their descendants. It never decreases while the launch runs. The memory is
  /// that of the running processes.
  ///
  /// The method reads a few small files per process and does not wait. The result is zero where the system has no such
  /// files (macOS).
  package func use(of launch: LaunchKey) -> ProcessUse {
    let folder = folders.folder(of: launch)
    let (running, ended) = state.withLock { state in
      let places = state.places.values.filter { $0.folder == folder && !$0.isCounted }
      return (places.compactMap { $0.process?.pid }, state.uses[folder]?.ended ?? .zero)
    }
    let living = running.compactMap { ProcessUse.family(of: $0) }.reduce(ProcessUse(), +)
    return state.withLock { state in
      let most = max(state.uses[folder]?.most ?? .zero, ended + living.cpuTime)
      state.uses[folder]?.most = most
      return ProcessUse(cpuTime: most, memory: living.memory)
    }
  }

  /// Remembers the processes that run below each command now. `ProcessOrigins` uses this later for a process that hides
  /// its environment and has lost its parents. With control groups this is not needed.
  package func lookAtFamilies() {
    guard groups == nil, adoptsOrphans else { return }
    for place in state.withLock({ Array($0.places.values) }) {
      guard let pid = place.process?.pid else { continue }
      ChildTable.saw(ProcessTable.family(of: pid).compactMap { ProcessTable.entry(of: $0) }, of: place.folder)
    }
  }

  /// Like `use(of:)`, for a launch that is over. The launch's use is then forgotten.
  package func endUse(of launch: LaunchKey) -> ProcessUse {
    let use = use(of: launch)
    state.withLock { $0.uses[folders.folder(of: launch)] = nil }
    return use
  }

  /// Adds the use of an ended command to its launch. Call it after the command has ended and before it is reaped.
  func noteUse(at place: Int) {
    guard let process = state.withLock({ $0.places[place] })?.process else { return }
    let use = ProcessUse.family(of: process.pid)?.cpuTime ?? .zero
    state.withLock { state in
      guard let entry = state.places[place], !entry.isCounted else { return }
      state.places[place]?.isCounted = true
      state.uses[entry.folder]?.ended += use
    }
  }
}
