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
      (state.running.filter { $1.folder == folder }.map(\.key), state.uses[folder]?.ended ?? .zero)
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
    for (pid, command) in state.withLock({ $0.running }) {
      ChildTable.saw(ProcessTable.family(of: pid).compactMap { ProcessTable.entry(of: $0) }, of: command.folder)
    }
  }

  /// Like `use(of:)`, for a launch that is over. The launch's use is then forgotten.
  package func endUse(of launch: LaunchKey) -> ProcessUse {
    let use = use(of: launch)
    state.withLock { $0.uses[folders.folder(of: launch)] = nil }
    return use
  }
}
