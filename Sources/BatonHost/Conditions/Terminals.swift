import BatonModel
import BatonProcess
import CBatonHost

/// Tells when a person last typed on a terminal, by the access times of `dev/pts/*` and of the consoles `dev/tty1` to
/// `tty63`.
///
/// Linux sets the access time when a program reads what was typed, but only once in 8 s, so that the times do not
/// reveal the rhythm of a password (`tty_update_time`). The command `w` shows the same times. A new terminal counts as
/// used. After a terminal was seen for the first time, its last use is measured with the monotonic clock, so that a
/// step of the wall clock changes nothing.
struct Terminals: Sendable {
  struct Use: Hashable, Sendable {
    /// The number of pseudo terminals: windows, ssh sessions, and those of a detached tmux.
    var count: Int
    /// The last use of any terminal; `nil` if no terminal was ever used.
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
  /// The console that was in the foreground at the last reading; `nil` if the system does not tell.
  private var front: String?

  init(root: SystemRoot) {
    self.root = root
    consoles = (0...63).map { ("tty\($0)", root.path + "/dev/tty\($0)") }
  }

  /// Reads the access times.
  /// - Parameter date: the wall clock. It dates the last use of a terminal that is seen for the first time.
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

  /// Adds the consoles. All consoles exist from the start of the system, whether they are used or not, and an unused
  /// one has the access time of its creation. A console whose access time is less than 10 s after the oldest one was
  /// therefore never used.
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

  /// At the first reading all consoles. Later only the consoles that may have been used since the last reading: the one
  /// in the foreground now (`sys/class/tty/tty0/active`) and the one at the last reading. All consoles if the system
  /// does not tell which one is in the foreground.
  private mutating func consolesToLookAt() -> [(name: String, path: String)] {
    let before = front
    front = root.string("sys/class/tty/tty0/active")
    guard let front, let before else { return consoles }
    return consoles.filter { $0.name == front || $0.name == before }
  }

  /// The entry of a terminal at this reading. A changed inode or access time counts as a use now.
  /// - Parameter first: computes the last use of a terminal that is seen for the first time.
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
