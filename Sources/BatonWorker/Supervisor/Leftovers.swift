#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Everything below this process, when nothing may be: its worker is dead, and what that left is its own child now.
enum Leftovers {
  /// Kills and reaps every child, and every child that those leave, until there are none; gives up after 5 s if the
  /// system does not let one end. On a system where orphans are not adopted (macOS) there is nothing to be found, and
  /// the next worker finds what the last one recorded.
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
