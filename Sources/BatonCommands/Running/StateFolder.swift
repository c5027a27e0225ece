import BatonBase

/// The folder in which `baton run` keeps its state by default, according to the XDG Base Directory Specification.
enum StateFolder {
  /// The folder for these files: `$XDG_STATE_HOME/baton/run/`, then the name of the file whose path sorts last, and a
  /// hash of all absolute paths. The same files in another order have the same folder.
  /// - Throws: a `CommandFailure` with status `usage` if neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
  static func run(of files: [String], in environment: CommandEnvironment) throws -> String {
    let paths = Set(files.map { absolute($0, in: environment) }).sorted()
    let name = paths.last.flatMap { $0.split(separator: "/").last } ?? "files"
    return try root(in: environment) + "/run/\(name)-" + hash(paths.joined(separator: "\n"))
  }

  private static func root(in environment: CommandEnvironment) throws -> String {
    guard let folder = UserFolders.state(environment.variable) else {
      throw CommandFailure(.usage, UserFolders.noState)
    }
    return normal(folder)
  }

  /// The absolute path, without `.` and `..`. Symbolic links are not followed: the path stays the one that the
  /// person gave.
  static func absolute(_ path: String, in environment: CommandEnvironment) -> String {
    normal(path.hasPrefix("/") ? path : environment.currentDirectory + "/" + path)
  }

  private static func normal(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// The FNV-1a hash with 64 bits (RFC 9923). It only has to tell apart the few files that one person runs.
  private static func hash(_ text: String) -> String {
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
