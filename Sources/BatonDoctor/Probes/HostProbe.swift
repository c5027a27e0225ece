import BatonBase
import BatonModel
import BatonStore
import BatonWire
import CBatonHost

/// Reads the host's clock, users, tokens, limits and versions.
package enum HostProbe {
  package static func user() -> HostFacts.User {
    let name = getpwuid(geteuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) }
    return HostFacts.User(id: geteuid(), name: name ?? "uid \(geteuid())")
  }

  package static func clock() -> HostFacts.Clock {
    var error: Int64 = 0
    let answer = baton_host_clock_is_synchronised(&error)
    return answer < 0
      ? HostFacts.Clock() : HostFacts.Clock(isSynchronised: answer == 1, error: .microseconds(error))
  }

  /// The resource limits of this process.
  package static func limits() -> HostFacts.Limits {
    let (files, atMost) = limit(BATON_HOST_OPEN_FILES)
    return HostFacts.Limits(openFiles: files, openFilesAtMost: atMost, processes: limit(BATON_HOST_PROCESSES).0)
  }

  private static func limit(_ which: Int32) -> (Int64?, Int64?) {
    var (soft, hard): (Int64, Int64) = (-1, -1)
    guard baton_host_limit(which, &soft, &hard) == 0 else { return (nil, nil) }
    return (soft < 0 ? nil : soft, hard < 0 ? nil : hard)
  }

  package static func versions() -> HostFacts.Versions {
    var text = [CChar](repeating: 0, count: 512)
    let code = baton_host_system(&text, Int32(text.count))
    let system = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return HostFacts.Versions(
      baton: BatonVersion.current, sqlite: StoreInspection.engine, system: code == 0 ? system : "unknown system")
  }

  /// Examines the token file at `path`.
  package static func token(_ path: String, _ kind: HostFacts.Token.Kind) -> HostFacts.Token {
    var file = baton_host_file()
    guard baton_host_look(path, &file) == 0 else {
      return HostFacts.Token(path: path, kind: kind, state: .missing, isReadable: false)
    }
    return HostFacts.Token(
      path: path, kind: kind, state: .there(owner: file.user, mode: file.mode & 0o7777),
      isReadable: access(path, R_OK) == 0)
  }

  /// The id of the process that holds the lock of the store in `folder`; `nil` if no process holds it, or if the system
  /// does not say.
  package static func holder(of folder: String) -> Int32? {
    let path = StoreInspection.lockFile(of: folder)
    var file = baton_host_file()
    guard baton_host_look(path, &file) == 0, let pid = text(of: path).flatMap({ Int32($0) }),
      let locks = text(of: "/proc/locks")
    else { return nil }
    return isLocked(inode: file.inode, by: pid, locks: locks) ? pid : nil
  }

  /// Whether the process `pid` holds a lock on the file `inode`. It reads the list of locks instead of trying to take
  /// the lock, because a lock that is taken for a moment could keep a coordinator from starting.
  ///
  /// - Parameter locks: the content of /proc/locks (proc_locks(5)).
  static func isLocked(inode: UInt64, by pid: Int32, locks: String) -> Bool {
    locks.split(separator: "\n").contains { line in
      let words = line.split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK" else { return false }
      return words[4] == "\(pid)" && words[5].split(separator: ":").last == "\(inode)"
    }
  }

  /// The content of a file without white space at its end; `nil` if the file cannot be opened.
  private static func text(of path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    while case let count = read(file, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    while let last = bytes.last, last == 0x0a || last == 0x20 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
