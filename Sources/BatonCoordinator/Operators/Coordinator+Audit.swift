import BatonBase
import BatonIdentity
import BatonModel
import BatonStore
import BatonTelemetry
import BatonWire
import Logging

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The coordinator's work on the audit log.
extension Coordinator {
  /// Writes the counts of refused calls as they become due.
  func auditLoop() async throws {
    while true {
      try await clocks.sleep(DeniedCalls.interval)
      await callAudit.flush()
    }
  }

  /// The largest number of rows that one step moves.
  private static let auditStep = 500

  /// Moves rows of the audit log that are older than `settings.auditFor` to a file, durably, and then deletes them. The
  /// chain of hashes goes on from the file to the store.
  func moveOldAudit() async throws {
    guard let folder = settings.auditFolder else { return }
    while true {
      let rows = try await store.oldAudit(before: now().date + (.zero - settings.auditFor), limit: Self.auditStep)
      guard let first = rows.first, let last = rows.last else { return }
      do {
        let text = rows.map { $0.jsonLine }.joined()
        try FileManager.default.createDirectory(
          atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // If the process ends before the rows are deleted, the same file is written again.
        try PrivateFile.write(Array(text.utf8), to: "\(folder)/\(first.sequence)-\(last.sequence).jsonl")
      } catch {
        logger.error("old rows of the audit log cannot be moved to a file, so they stay in the store: \(error)")
        return
      }
      try await store.dropAudit(upTo: last)
      if rows.count < Self.auditStep { return }
    }
  }
}

extension AuditRow {
  /// The row as one line of JSON.
  package var jsonLine: String {
    struct Line: Encodable {
      var sequence: Int64
      var at: String
      var nanoseconds: Int64
      var actor: String
      var credential: String?
      var peer: String
      var method: String
      var object: String
      var outcome: String
      var detail: String
      var previous: String
      var hash: String
    }
    let line = Line(
      sequence: sequence, at: entry.at.rfc3339, nanoseconds: entry.at.nanoseconds, actor: entry.actor,
      credential: entry.credential.map { Hexadecimal.text($0) }, peer: entry.peer, method: entry.method,
      object: entry.object, outcome: entry.outcome.rawValue, detail: entry.detail,
      previous: Hexadecimal.text(previous), hash: Hexadecimal.text(hash))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: (try? encoder.encode(line)) ?? Data(), as: UTF8.self) + "\n"
  }
}
