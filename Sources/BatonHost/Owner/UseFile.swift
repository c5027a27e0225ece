package import BatonModel
import BatonProcess
import Synchronization

/// Stores the use of this host by today's launches in `use.json` in the worker's data folder. It is saved at most once
/// a minute, and when the worker ends. The loss of the file only costs the owner these numbers, so counting starts
/// again if the file cannot be read.
package final class UseFile: Sendable {
  private let ledger: Mutex<UseLedger>
  private let path: String
  /// Why the counts of an earlier worker were not taken over; `nil` if they were, or if there are none.
  package let warning: String?

  package init(folder: String) {
    path = folder + "/use.json"
    let (restored, warning) = Self.restored(SystemRoot(folder).text("use.json"), path)
    ledger = Mutex(restored)
    self.warning = warning
  }

  private static func restored(_ text: SystemRoot.Text, _ path: String) -> (UseLedger, String?) {
    switch text {
    case .missing: return (UseLedger(), nil)
    case .unreadable(let why): return (UseLedger(), "\(path) cannot be read: \(why)")
    case .text(let text):
      if let restored = try? UseLedger(Array(text.utf8)) { return (restored, nil) }
      return (UseLedger(), "\(path) cannot be understood: today's use is counted from zero again")
    }
  }

  package func today(_ date: Timestamp) -> HostUse { ledger.withLock { $0.today(date) } }

  /// Counts what a launch has used so far, as `UseLedger.count` does. This method never waits for the disk.
  /// - Parameter isOver: whether this is the last count of the launch.
  package func count(_ launch: LaunchKey, launchTime: Duration, cpuTime: Duration?, on date: Timestamp, isOver: Bool) {
    ledger.withLock { ledger in
      ledger.count(launch, launchTime: launchTime, cpuTime: cpuTime, on: date)
      if isOver { ledger.end(launch) }
    }
  }

  /// Writes the file if the counts have changed and a minute has passed since the last write. Call it after counting.
  /// - Throws: `SystemError` if the file cannot be written.
  package func saveIfDue(at now: Instant) async throws {
    guard let bytes = ledger.withLock({ $0.due(at: now) }) else { return }
    try await onOwnThread { [path] in try DurableFile.write(bytes, to: path) }
  }

  /// Writes the file if the counts have changed since the last write. Call it when the worker ends.
  package func save() async throws {
    guard let bytes = ledger.withLock({ $0.unsaved() }) else { return }
    try await onOwnThread { [path] in try DurableFile.write(bytes, to: path) }
  }
}
