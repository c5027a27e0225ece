package import BatonModel
import Synchronization

/// What the commands of one launch have used.
extension ProcessRegistry {
  struct LaunchUse: Hashable, Sendable {
    /// Of commands that have ended.
    var ended = Duration.zero
    /// A daemon that left its command's tree is not seen any more; what it used before is not taken back.
    var most = Duration.zero
  }

  /// What the launch's commands have used so far: those that ended with all that they waited for, those that run with
  /// their descendants. It never falls while the launch lasts. Memory is that of those that run.
  ///
  /// It reads a few small files per process, and waits for nothing. Zero where the system does not say (macOS).
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

  /// Remembers what runs below each command now: a process that hides its environment and loses its parents later is
  /// known by that. Where there are control groups they know better.
  func lookAtFamilies() {
    guard groups == nil, adoptsOrphans else { return }
    for place in state.withLock({ Array($0.places.values) }) {
      guard let pid = place.process?.pid else { continue }
      ChildTable.saw(ProcessTable.family(of: pid).compactMap { ProcessTable.entry(of: $0) }, of: place.folder)
    }
  }

  /// The same when the launch is over; it is forgotten then.
  package func endUse(of launch: LaunchKey) -> ProcessUse {
    let use = use(of: launch)
    state.withLock { $0.uses[folders.folder(of: launch)] = nil }
    return use
  }

  /// Call when the command has ended and is not reaped yet.
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
