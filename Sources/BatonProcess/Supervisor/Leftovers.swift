import BatonBase

/// Kills the processes that a dead worker has left. The supervisor has adopted them, and has no other children at that
/// time.
enum Leftovers {
  /// Kills and reaps all children, and the children that these leave, until there are none. Gives up after about 5 s if
  /// the system does not let one end. On a system where orphans are not adopted (macOS) it finds nothing; the next
  /// worker then looks for the processes that the dead worker recorded.
  static func killChildren() {
    for _ in 0..<5000 {
      let children = ProcessTable.children()
      for child in children { _ = SystemCall.signal(child.pid, SIGKILL) }
      while waitpid(-1, nil, WNOHANG) > 0 {}
      if children.isEmpty { return }
      usleep(1000)
    }
  }
}
