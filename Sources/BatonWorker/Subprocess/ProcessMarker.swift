/// How a process is known to come from a launch of this worker, whatever became of its parents and its process group:
/// the variable `BATON_EXPIRY_FILE` of its environment names a file in that launch's folder. A process that cleared
/// its environment is known by its group or as an adopted orphan only.
enum ProcessMarker {
  static let variable = "BATON_EXPIRY_FILE"
  static let fileName = "expiry.json"

  static func value(folder: String) -> String { folder + "/" + fileName }

  /// What the environment of a process says.
  enum Reading: Hashable, Sendable {
    /// The launch folder that the process names.
    case launch(String)
    /// The process names no launch: it cleared its environment, or came from elsewhere.
    case unmarked
    /// The process is in `execve`: its environment reads as empty for a moment. Read again.
    case notYet
    /// The process has ended, or this one may not read its environment.
    case unreadable
  }

  static func reading(of pid: Int32) -> Reading {
    reading(
      environment: { SystemCall.contents(of: "/proc/\(pid)/environ", limit: 4 << 20) },
      entry: { ProcessTable.entry(of: pid) })
  }

  /// An empty environment is believed only where the process says before and after that it has one.
  static func reading(environment: () -> [UInt8]?, entry: () -> ProcessEntry?) -> Reading {
    var wasComplete = false
    for _ in 0..<attempts {
      guard let bytes = environment() else { return .unreadable }
      if !bytes.isEmpty { return launchFolder(in: bytes).map { .launch($0) } ?? .unmarked }
      guard let entry = entry(), !entry.isZombie, entry.hasMemory else { return .unreadable }
      if entry.hasEnvironment, wasComplete { return .unmarked }
      wasComplete = entry.hasEnvironment
    }
    return .notYet
  }

  private static let attempts = 3

  private static func launchFolder(in environment: [UInt8]) -> String? {
    let prefix = Array("\(variable)=".utf8)
    guard let match = environment.split(separator: 0).first(where: { $0.starts(with: prefix) }) else { return nil }
    let value = String(decoding: match.dropFirst(prefix.count), as: UTF8.self)
    return value.hasSuffix("/" + fileName) ? String(value.dropLast(fileName.count + 1)) : nil
  }
}
