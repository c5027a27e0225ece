package import BatonModel
import Synchronization

/// What launches used here today, kept in `use.json` of the worker's data folder: saved at most once a minute, and at
/// the end. Losing it costs the owner a number and nothing else: a file that is garbage is begun anew.
package final class UseFile: Sendable {
  private let ledger: Mutex<UseLedger>
  private let path: String
  /// Why the count of an earlier worker was not taken over; nil if it was, or there is none.
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
      return (UseLedger(), "\(path) is not what a worker writes there: the count of today begins anew")
    }
  }

  package func today(_ date: Timestamp) -> HostUse { ledger.withLock { $0.today(date) } }

  /// See `UseLedger.count`. It never waits for a disk.
  package func count(_ launch: LaunchKey, launchTime: Duration, cpuTime: Duration?, on date: Timestamp, isOver: Bool) {
    ledger.withLock { ledger in
      ledger.count(launch, launchTime: launchTime, cpuTime: cpuTime, on: date)
      if isOver { ledger.forget(launch) }
    }
  }

  /// Writes if a minute has passed since the last time; call it after counting.
  /// - Throws: `CommandError` if the file cannot be written.
  package func saveIfDue(at now: Instant) async throws {
    guard let bytes = ledger.withLock({ $0.due(at: now) }) else { return }
    try await onOwnThread { [path] in try DurableFile.write(bytes, to: path) }
  }

  /// Writes what is new; call it at the end.
  package func save() async throws {
    guard let bytes = ledger.withLock({ $0.unsaved() }) else { return }
    try await onOwnThread { [path] in try DurableFile.write(bytes, to: path) }
  }
}
