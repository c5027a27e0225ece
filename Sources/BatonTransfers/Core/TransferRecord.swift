package import BatonModel

/// What the journal keeps of a transfer. A restarted process goes on from it.
package struct TransferRecord: Hashable, Sendable, Codable {
  package var assignment: TransferAssignment
  /// When the order arrived: by the wall clock, and by the monotonic clock of a boot, as the time since its zero.
  package var orderedAt: Timestamp
  package var orderedAfter: Duration
  package var boot: String
  /// How many bytes of the partial file are synced.
  package var offset: Int64 = 0
  /// What the partial file is a part of; `nil` if it cannot be gone on with.
  package var validator: Validator?
  package var total: Int64?
  /// Whether a range of this server was wrong. No range is asked for any more.
  package var rangesLie = false
  package var attempts = 0
  package var resumedFrom: Int64 = 0
  package var httpStatus: Int?
  package var lastError: String?
  package var end: TransferEnd?
  package var endedAt: Timestamp?

  package var key: TransferKey { assignment.key }

  package init(_ assignment: TransferAssignment, orderedAt: Timestamp, orderedInstant: Instant, boot: String) {
    (self.assignment, self.orderedAt) = (assignment, orderedAt)
    (orderedAfter, self.boot) = (.nanoseconds(orderedInstant.nanoseconds), boot)
  }

  /// Whether the next attempt can go on behind what is there.
  package var canResume: Bool { offset > 0 && validator != nil && !rangesLie }

  /// The end of the transfer's `resourceTimeout`, by the monotonic clock. After a reboot the time since the order is
  /// what the wall clock says, and not less than zero: nothing else has gone on meanwhile.
  func deadline(boot current: String, at now: Now) -> Instant {
    if boot == current { return Instant(nanoseconds: orderedAfter.nanoseconds) + assignment.transfer.resourceTimeout }
    return now.instant + (assignment.transfer.resourceTimeout - max(now.date - orderedAt, .zero))
  }
}
