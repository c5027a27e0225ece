import BatonModel
import CBatonProcess

/// When somebody last typed on a terminal: the access times of `dev/pts/*` and of the consoles `dev/tty1` to `tty63`.
///
/// Linux sets the time when a program reads what was typed, and only once in 8 s, so that nobody learns the rhythm of a
/// password (`tty_update_time`); `w` shows the same. A new terminal counts as used. Once a terminal was seen, the
/// steady clock says how long ago it was used: a step of the wall clock changes nothing.
struct Terminals: Sendable {
  struct Use: Hashable, Sendable {
    /// How many pseudo terminals there are: windows, ssh sessions, those of a detached tmux.
    var count: Int
    /// Nil where none was ever used.
    var last: Sighting?
  }

  private struct Entry {
    var inode: UInt64
    var accessed: Timestamp
    var used: Instant?
  }

  private let root: SystemRoot
  private let consoles: [(name: String, path: String)]
  private var entries: [String: Entry] = [:]
  /// The console that stood in front at the last look, where the system says which one does.
  private var front: String?

  init(root: SystemRoot) {
    self.root = root
    consoles = (0...63).map { ("tty\($0)", root.path + "/dev/tty\($0)") }
  }

  mutating func read(at now: Instant, date: Timestamp) -> Use {
    let terminals = root.names(in: "dev/pts").filter { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    var seen: [String: Entry] = [:]
    for terminal in terminals {
      let name = "pts/" + terminal
      guard let (inode, accessed) = Self.access(of: root.path + "/dev/" + name) else { continue }
      seen[name] = entry(name, inode, accessed, at: now) { now + min(.zero, accessed - date) }
    }
    addConsoles(to: &seen, at: now, date: date)
    entries = seen
    let used = seen.compactMap { name, entry in entry.used.map { Sighting(at: $0, what: "\(name) used") } }
    let last = used.max { ($0.at, $1.what) < ($1.at, $0.what) }
    return Use(count: terminals.count, last: last)
  }

  /// Every console is there from the start, used or not, and was then last accessed when it was made, with all others:
  /// what was accessed together with the first was never used.
  private mutating func addConsoles(to seen: inout [String: Entry], at now: Instant, date: Timestamp) {
    let found = consolesToLookAt().compactMap { console in
      Self.access(of: console.path).map { (console.name, $0.0, $0.1) }
    }
    for console in consoles { seen[console.name] = entries[console.name] }
    guard let made = found.map(\.2).min() else { return }
    for (name, inode, accessed) in found where name != "tty0" {
      seen[name] = entry(name, inode, accessed, at: now) {
        accessed - made < .seconds(10) ? nil : now + min(.zero, accessed - date)
      }
    }
  }

  /// All of them once. Afterwards those that were typed on since then, which are the one that stands in front
  /// (`sys/class/tty/tty0/active`) and the one that did; all where nobody says which one does.
  private mutating func consolesToLookAt() -> [(name: String, path: String)] {
    let before = front
    front = root.string("sys/class/tty/tty0/active")
    guard let front, let before else { return consoles }
    return consoles.filter { $0.name == front || $0.name == before }
  }

  /// - Parameter first: when it was used, if it is seen for the first time.
  private func entry(
    _ name: String, _ inode: UInt64, _ accessed: Timestamp, at now: Instant, first: () -> Instant?
  ) -> Entry {
    guard let old = entries[name] else { return Entry(inode: inode, accessed: accessed, used: first()) }
    let isSame = old.inode == inode && old.accessed == accessed
    return Entry(inode: inode, accessed: accessed, used: isSame ? old.used : now)
  }

  private static func access(of path: String) -> (UInt64, Timestamp)? {
    var (inode, nanoseconds): (UInt64, Int64) = (0, 0)
    guard baton_last_access(path, &inode, &nanoseconds) == 0 else { return nil }
    return (inode, Timestamp(nanoseconds: nanoseconds))
  }
}
