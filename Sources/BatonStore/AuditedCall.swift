package import BatonModel
internal import Synchronization

/// The call of an operator that is being carried out. Its row of the audit log is written in the transaction of the
/// first change that the call makes; so there is no change without its row, and no row of a change that was not made.
/// A call that makes no change gets its row when it ends (`end`).
package final class AuditedCall: Sendable {
  /// The call that the current task carries out; `nil` for what the coordinator does by itself, and for reading.
  @TaskLocal package static var current: AuditedCall?

  private enum Phase {
    case waiting
    /// A write has the entry with it.
    case isBeingWritten
    case over
  }

  private let entry: AuditEntry
  private let phase = Mutex(Phase.waiting)

  package init(_ entry: AuditEntry) { self.entry = entry }

  /// Who makes the call.
  package var actor: String { entry.actor }

  /// Ends the call.
  /// - Returns: the entry, if no change has stored it.
  package func end() -> AuditEntry? {
    phase.withLock { phase in
      defer { phase = .over }
      return phase == .over ? nil : entry
    }
  }

  /// Whether a change of the call was stored together with its entry.
  package var isStored: Bool { phase.withLock { $0 == .over } }

  /// Runs a write, which stores the entry too unless another write of the call does, or the result is no change.
  func writing<Value: Sendable>(
    _ isChange: @escaping @Sendable (Value) -> Bool, _ body: @escaping @Sendable (Verbs) throws -> Value,
    _ write: (@escaping @Sendable (Verbs) throws -> Value) async throws -> Value
  ) async throws -> Value {
    let isFree = phase.withLock { phase in
      guard phase == .waiting else { return false }
      phase = .isBeingWritten
      return true
    }
    guard isFree else { return try await write(body) }
    do {
      let value = try await write { [entry] verbs in
        let value = try body(verbs)
        if isChange(value) { try verbs.append(entry) }
        return value
      }
      phase.withLock { $0 = isChange(value) ? .over : .waiting }
      return value
    } catch {
      phase.withLock { if $0 == .isBeingWritten { $0 = .waiting } }
      throw error
    }
  }
}
