/// Recognises the processes of this worker's launches, even after they have changed their parent or their process
/// group: the variable `BATON_EXPIRY_FILE` in their environment names a file in the launch's folder. A process that has
/// cleared its environment can only be recognised by its process group, or as an adopted orphan.
package enum ProcessMarker {
  package static let variable = "BATON_EXPIRY_FILE"
  package static let fileName = "expiry.json"

  package static func value(folder: String) -> String { folder + "/" + fileName }

  /// What the environment of a process tells.
  enum Reading: Hashable, Sendable {
    /// The process belongs to the launch with this folder.
    case launch(String)
    /// The process names no launch: it has cleared its environment, or it does not come from a launch.
    case unmarked
    /// The process is in `execve`, during which its environment reads as empty. Read it again.
    case notYet
    /// The process has ended, or its environment may not be read by this process.
    case unreadable
  }

  static func reading(of pid: Int32) -> Reading {
    reading(
      environment: { SystemCall.contents(of: "/proc/\(pid)/environ", limit: 4 << 20) },
      entry: { ProcessTable.entry(of: pid) })
  }

  /// An empty environment counts only if the process has an environment both before and after it is read.
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
