/// What the audit log says about one call.
package struct AuditEntry: Hashable, Sendable {
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The change was made, in the same transaction.
    case done
    /// The caller may not do this, or is not known.
    case denied
    /// The caller may do this, but it was not possible.
    case failed
  }

  /// When the call came, on the wall clock.
  package var at: Timestamp
  /// The name of the credential, of the host, or of the coordinator's own user. Empty if nothing was proven.
  package var actor: String
  /// The id of the credential, or the serial number of the host's certificate; `nil` for the coordinator's own user.
  package var credential: [UInt8]?
  /// Where the call came from, such as `ipv4:192.0.2.7:50312`, or `unix`.
  package var peer: String
  /// The name of the method, such as `Operators/Apply`.
  package var method: String
  /// What the call concerned: an identifier, a pattern, a host or a credential. Empty if it concerned the fleet.
  package var object: String
  package var outcome: Outcome
  /// What else is worth knowing, at most `largestDetail` bytes. Never a payload, an environment or a secret.
  package var detail: String

  package static let largestDetail = 1024
  /// The largest `object`, in bytes.
  package static let largestObject = 255

  /// Cuts `object` and `detail` to their largest sizes.
  package init(
    at: Timestamp, actor: String, credential: [UInt8]?, peer: String, method: String, object: String,
    outcome: Outcome = .done, detail: String = ""
  ) {
    (self.at, self.actor, self.credential, self.peer, self.method) = (at, actor, credential, peer, method)
    (self.object, self.outcome) = (object.cut(toBytes: Self.largestObject), outcome)
    self.detail = detail.cut(toBytes: Self.largestDetail)
  }

  /// The same call with another outcome.
  package func with(_ outcome: Outcome, _ detail: String) -> AuditEntry {
    AuditEntry(
      at: at, actor: actor, credential: credential, peer: peer, method: method, object: object, outcome: outcome,
      detail: self.detail.isEmpty ? detail : "\(self.detail); \(detail)")
  }
}

/// A row of the audit log. Each row has the hash of the one before it, so a changed, added or missing row breaks the
/// chain.
package struct AuditRow: Hashable, Sendable {
  /// 1 for the first row, and one more for each row after it.
  package var sequence: Int64
  package var entry: AuditEntry
  /// The hash of the row before: 32 bytes, zeros for the first row.
  package var previous: [UInt8]
  /// The SHA-256 of `previous` and the row: 32 bytes.
  package var hash: [UInt8]

  package init(sequence: Int64, entry: AuditEntry, previous: [UInt8], hash: [UInt8]) {
    (self.sequence, self.entry, self.previous, self.hash) = (sequence, entry, previous, hash)
  }
}

/// Which rows of the audit log are meant.
package struct AuditFilter: Hashable, Sendable {
  package var actor: String?
  package var object: String?
  /// Only rows of this time and later.
  package var since: Timestamp?
  /// The method as the rows have it.
  package var method: String?
  /// Whether the rows come in the opposite order.
  package var isNewestFirst: Bool

  package init(
    actor: String? = nil, object: String? = nil, since: Timestamp? = nil, method: String? = nil,
    isNewestFirst: Bool = false
  ) {
    (self.actor, self.object, self.since) = (actor, object, since)
    (self.method, self.isNewestFirst) = (method, isNewestFirst)
  }
}

/// The end of the audit log. Who has kept it can prove later whether the log still begins with what it had then.
package struct AuditHead: Hashable, Sendable {
  /// The number of the last row; 0 if there was none yet.
  package var sequence: Int64
  /// The hash of the last row: 32 bytes.
  package var hash: [UInt8]

  package init(sequence: Int64, hash: [UInt8]) { (self.sequence, self.hash) = (sequence, hash) }
}

/// What a check of the whole audit log has found.
package struct AuditVerdict: Hashable, Sendable {
  /// How many rows there are.
  package var rows: Int64
  /// The number of the last row; 0 if there was none yet.
  package var last: Int64
  /// The hash of the last row: 32 bytes.
  package var head: [UInt8]
  /// The first thing that is wrong; `nil` if the chain is whole.
  package var problem: String?

  package init(rows: Int64, last: Int64, head: [UInt8], problem: String?) {
    (self.rows, self.last, self.head, self.problem) = (rows, last, head, problem)
  }
}
